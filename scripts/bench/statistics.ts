/** Returns the quantile of ascending values by linear interpolation. */
export function quantile(ascending: readonly number[], share: number): number {
  const position = (ascending.length - 1) * share;
  const [low, high] = [
    ascending[Math.floor(position)] ?? Number.NaN,
    ascending[Math.ceil(position)] ?? Number.NaN,
  ];
  return low + (high - low) * (position - Math.floor(position));
}

export interface Spread {
  readonly median: number;
  /** Interquartile range: the third quartile minus the first. */
  readonly iqr: number;
  readonly count: number;
}

/** Returns the median, the interquartile range and the number of values. */
export function spreadOf(values: readonly number[]): Spread {
  const ascending = [...values].sort((a, b) => a - b);
  return {
    median: quantile(ascending, 0.5),
    iqr: quantile(ascending, 0.75) - quantile(ascending, 0.25),
    count: values.length,
  };
}

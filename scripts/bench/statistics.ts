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

/** Percentiles of latencies in ms. */
export interface Latencies {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export function latenciesOf(samples: readonly number[]): Latencies {
  const ascending = [...samples].sort((a, b) => a - b);
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((share) => quantile(ascending, share));
  return {
    count: samples.length,
    p50: p50 ?? 0,
    p95: p95 ?? 0,
    p99: p99 ?? 0,
    max: ascending.at(-1) ?? 0,
  };
}

/** The cells of a table under `latencyColumns`. */
export function latencyCells({ count, p50, p95, p99, max }: Latencies): string[] {
  return [String(count), ...[p50, p95, p99, max].map((value) => value.toFixed(0))];
}

export const latencyColumns = ["changes", "p50 ms", "p95 ms", "p99 ms", "max ms"];

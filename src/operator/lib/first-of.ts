interface Options<T> {
  readonly max?: number;
  readonly separator?: ", " | "; ";
  /** Returns the text of an item. It is called for those that are shown only. */
  readonly text?: (item: T) => string;
}

/**
 * Returns the first of some items, and how many more there are: `a, b, c and 2 more`, or `a; b; c;
 * and 2 more`.
 */
export function firstOf<T>(
  items: readonly T[],
  { max = 3, separator = ", ", text = String }: Options<T> = {},
): string {
  const shown = items.slice(0, max).map(text).join(separator);
  const more = items.length - max;
  const and = separator === "; " ? "; and" : " and";
  return more > 0 ? `${shown}${and} ${more} more` : shown;
}

/** Rows in one statement. Few sizes, because connections prepare a separate statement for each. */
const SIZES = [128, 16, 4, 1];

/**
 * Splits values into batches of few different sizes, one statement each: a statement per value
 * would cost a round trip each.
 * @param most values of a statement that takes long for each
 */
export function* batches<T>(values: readonly T[], most = Infinity): Generator<readonly T[]> {
  let start = 0;
  for (const size of SIZES.filter((each) => each <= most)) {
    for (; values.length - start >= size; start += size) yield values.slice(start, start + size);
  }
}

/** Returns `count` groups separated by commas; `group` returns the group with a number, from 0. */
export function repeated(count: number, group: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => group(index)).join(", ");
}

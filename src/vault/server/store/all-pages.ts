/**
 * Returns everything that pages of at most `size` have, in their order.
 * @param read returns the page after an entry; without one, the first
 */
export async function allPages<T>(
  size: number,
  read: (after: T | undefined) => Promise<readonly T[]>,
): Promise<T[]> {
  const all: T[] = [];
  for (let length = size; length === size;) {
    const page = await read(all.at(-1));
    all.push(...page);
    length = page.length;
  }
  return all;
}

/** Splits what is known already into pages of at most `size`. */
export function* pagesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

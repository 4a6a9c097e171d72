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

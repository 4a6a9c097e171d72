/** Returns the page after an entry; without one, the first. */
type ReadPage<T> = (after: T | undefined) => Promise<readonly T[]>;

/** Yields pages of at most `size`, each when it is requested. The first one may be empty. */
export async function* eachPage<T>(
  size: number,
  read: ReadPage<T>,
): AsyncGenerator<readonly T[], undefined> {
  let after: T | undefined;
  do {
    const page = await read(after);
    yield page;
    after = page.length < size ? undefined : page.at(-1);
  } while (after !== undefined);
  return undefined;
}

/** Returns everything that pages of at most `size` have, in their order. */
export async function allPages<T>(size: number, read: ReadPage<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of eachPage(size, read)) all.push(...page);
  return all;
}

/** Splits what is known already into pages of at most `size`. */
export function* pagesOf<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

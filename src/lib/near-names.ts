/** Returns how many edits a name may differ from a near one: one from four characters, two from eight. */
const mostEdits = (name: string): number => (name.length < 4 ? 0 : name.length < 8 ? 1 : 2);

/** Maximum number of cells of all comparisons of one call: some 10 ms. */
const MAX_CELLS = 2_000_000;

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbors that make one name of the other, or `undefined` if it
 * exceeds `most`. Compares UTF-16 code units, and only those that are at most `most` apart.
 */
export function editsBetween(a: string, b: string, most: number): number | undefined {
  if (Math.abs(a.length - b.length) > most) return undefined;
  const far = most + 1;
  let [beforeLast, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => Math.min(j, far))];
  for (let i = 1; i <= a.length; i++) {
    const row = Array.from<number>({ length: b.length + 1 }).fill(far);
    if (i <= most) row[0] = i;
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (last[j - 1] ?? far) + (isSame ? 0 : 1),
        (last[j] ?? far) + 1,
        (row[j - 1] ?? far) + 1,
        isSwap ? (beforeLast[j - 2] ?? far) + 1 : far,
      );
    }
    [beforeLast, last] = [last, row];
  }
  const edits = last[b.length] ?? far;
  return edits > most ? undefined : edits;
}

/**
 * Returns the nearest of the `known` names for each of the others, if there is a near one; of several the first in their order. The work
 * is limited: if there are too many names, some have none.
 */
export function nearNames(others: Iterable<string>, known: readonly string[]): ReadonlyMap<string, string> {
  const near = new Map<string, string>();
  let cells = 0;
  for (const name of [...others].sort()) {
    let most = mostEdits(name);
    for (const candidate of known) {
      if (most === 0) break;
      if (Math.abs(candidate.length - name.length) > most) continue;
      cells += (2 * most + 1) * name.length;
      if (cells > MAX_CELLS) return near;
      const edits = editsBetween(name, candidate, most);
      if (edits === undefined || edits === 0) continue;
      near.set(name, candidate);
      most = edits - 1;
    }
  }
  return near;
}

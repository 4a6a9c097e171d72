import leven from "leven";

/**
 * Returns how many edits a name may differ from a near one: one from four characters, two from six.
 * A swap of neighbors is two.
 */
const mostEdits = (name: string): number => (name.length < 4 ? 0 : name.length < 6 ? 1 : 2);

/** Maximum number of pairs of characters that one call compares: some 20 ms. */
const MAX_PAIRS = 10_000_000;

/**
 * Returns the nearest of the `known` names for each other name, if there is a near one; of several
 * the first in their order. The work is limited: if there are too many names, some have none.
 */
export function nearNames(
  others: Iterable<string>,
  known: readonly string[],
): ReadonlyMap<string, string> {
  const near = new Map<string, string>();
  let pairs = 0;
  for (const name of [...others].sort()) {
    let most = mostEdits(name);
    for (const candidate of known) {
      if (most === 0) break;
      const isTooDifferent = Math.abs(name.length - candidate.length) > most;
      pairs += isTooDifferent ? 1 : name.length * candidate.length;
      if (pairs > MAX_PAIRS) return near;
      if (isTooDifferent) continue;
      // Beyond the limit, the limit is returned.
      const edits = leven(name, candidate, { maxDistance: most + 1 });
      if (edits > most || edits === 0) continue;
      near.set(name, candidate);
      most = edits - 1;
    }
  }
  return near;
}

/** Returns how many edits a name may differ from a near one: one from four characters, two from eight. */
const mostEdits = (name: string): number => (name.length < 4 ? 0 : name.length < 8 ? 1 : 2);

/** Maximum number of characters and cells that are compared in one call: some 10 ms. */
const MAX_STEPS = 200_000;
/** Number of steps for the start of each comparison. */
const STEPS_PER_NAME = 5;

/** The number of edits, or `undefined` if there are too many, and the number of steps that it took to find out. */
interface Edits {
  readonly edits: number | undefined;
  readonly steps: number;
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length += 1;
  return length;
}

/** A row of the matrix of edits: the columns from `i - far` to `i + far`, of which the first and the last are always too many. */
type Row = Uint8Array;

/** Computes row `i` from the two before. Returns its least number of edits. */
function nextRow([older, before, row]: readonly [Row, Row, Row], a: string, b: string, i: number, far: number): number {
  row.fill(far);
  let least = far;
  for (let k = 1; k < 2 * far; k += 1) {
    const j = i + k - far;
    if (j < 0 || j > b.length) continue;
    const isSame = j > 0 && a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
    let edits = j === 0 ? Math.min(i, far) : (before[k] ?? far) + (isSame ? 0 : 1);
    edits = Math.min(edits, (before[k + 1] ?? far) + 1, (row[k - 1] ?? far) + 1, far);
    const isSwap = i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
    if (isSwap) edits = Math.min(edits, (older[k] ?? far) + 1);
    row[k] = edits;
    if (edits < least) least = edits;
  }
  return least;
}

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbors that make one name of the other, if it is at most
 * `most`. Compares UTF-16 code units, and only those that are at most `most` apart; ends when the difference is too large.
 */
export function editsBetween(left: string, right: string, most: number): Edits {
  if (Math.abs(left.length - right.length) > most) return { edits: undefined, steps: 0 };
  const start = commonPrefix(left, right);
  const [a, b] = [left.slice(start), right.slice(start)];
  const far = most + 1;
  const width = 2 * far + 1;
  let [older, before, row] = [new Uint8Array(width).fill(far), new Uint8Array(width).fill(far), new Uint8Array(width)];
  for (let k = far; k < 2 * far; k += 1) before[k] = k - far;
  for (let i = 1; i <= a.length; i += 1) {
    // A swap begins in the row before the last one, which has fewer edits then.
    if (nextRow([older, before, row], a, b, i, far) === far) return { edits: undefined, steps: start + i * width };
    [older, before, row] = [before, row, older];
  }
  const edits = before[b.length - a.length + far] ?? far;
  return { edits: edits > most ? undefined : edits, steps: start + a.length * width };
}

/**
 * Returns the nearest of the `known` names for each of the others, if there is a near one; of several the first in their order. The work
 * is limited: if there are too many names, some have none.
 */
export function nearNames(others: Iterable<string>, known: readonly string[]): ReadonlyMap<string, string> {
  const near = new Map<string, string>();
  let total = 0;
  for (const name of [...others].sort()) {
    let most = mostEdits(name);
    for (const candidate of known) {
      if (most === 0) break;
      const { edits, steps } = editsBetween(name, candidate, most);
      total += steps + STEPS_PER_NAME;
      if (total > MAX_STEPS) return near;
      if (edits === undefined || edits === 0) continue;
      near.set(name, candidate);
      most = edits - 1;
    }
  }
  return near;
}

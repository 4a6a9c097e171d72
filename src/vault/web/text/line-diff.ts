export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Pairs of lines that are compared at most: two values of 2,000 lines. */
const MAX_PAIRS = 4_000_000;

/**
 * Returns, for each pair of positions, how many lines the rests of both texts have in common; row
 * after row.
 */
function commonLines(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      common[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  return common;
}

const linesOf = (kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] =>
  texts.map((text) => ({ kind, text }));

/** Returns the difference of texts that neither begin nor end with a line in common. */
function middleDiff(old: readonly string[], current: readonly string[]): DiffLine[] {
  if (old.length * current.length > MAX_PAIRS)
    return [...linesOf("removed", old), ...linesOf("added", current)];
  const common = commonLines(old, current);
  const width = current.length + 1;
  const diff: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < current.length) {
    const text = old[row] ?? "";
    if (text === current[column]) {
      diff.push({ kind: "same", text });
      row += 1;
      column += 1;
    } else if (
      (common[(row + 1) * width + column] ?? 0) >= (common[row * width + column + 1] ?? 0)
    ) {
      diff.push({ kind: "removed", text });
      row += 1;
    } else {
      diff.push({ kind: "added", text: current[column] ?? "" });
      column += 1;
    }
  }
  return [
    ...diff,
    ...linesOf("removed", old.slice(row)),
    ...linesOf("added", current.slice(column)),
  ];
}

/**
 * Returns the lines of both texts, the common ones once: the fewest removed and added ones, except
 * for texts that differ in too many lines.
 */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, current] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, current.length);
  let head = 0;
  while (head < shorter && old[head] === current[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === current.at(-1 - tail)) tail += 1;
  return [
    ...linesOf("same", old.slice(0, head)),
    ...middleDiff(old.slice(head, old.length - tail), current.slice(head, current.length - tail)),
    ...linesOf("same", old.slice(old.length - tail)),
  ];
}

/** Unchanged lines that are not shown. */
interface Fold {
  readonly kind: "folded";
  readonly count: number;
}

/** Unchanged lines that are shown before and after a change. */
const CONTEXT = 3;

/** Folds the unchanged lines that are far from a change. */
export function foldedDiff(diff: readonly DiffLine[]): (DiffLine | Fold)[] {
  const near = new Uint8Array(diff.length);
  diff.forEach(({ kind }, at) => {
    if (kind !== "same") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const parts: (DiffLine | Fold)[] = [];
  for (let at = 0; at < diff.length;) {
    const next = near.indexOf(1, at);
    const count = (next === -1 ? diff.length : next) - at;
    if (count > 1) parts.push({ kind: "folded", count });
    else parts.push(...diff.slice(at, at + Math.max(1, count)));
    at += Math.max(1, count);
  }
  return parts;
}

import { expect, test } from "vitest";
import { foldedDiff, lineDiff } from "./line-diff.ts";

const signs = { same: " ", removed: "-", added: "+" } as const;
const diffOf = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => signs[kind] + text);

test.each([
  ["", "", [" "]],
  ["a\nb", "a\nb", [" a", " b"]],
  ["a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]],
  ["a\nb\nc\nd", "b\nd\ne", ["-a", " b", "-c", " d", "+e"]],
  ["old", "new", ["-old", "+new"]],
  ["a", "a\n", [" a", "+"]],
])("diff of %j and %j", (before, after, expected) => {
  expect(diffOf(before, after)).toEqual(expected);
});

test("texts without a line in common are shown one after the other when they are long", () => {
  const [before, after] = ["a\n".repeat(2001), "b\n".repeat(2002)];
  const kinds = lineDiff(`${before}x`, `${after}y`).map(({ kind }) => kind);
  expect(kinds.lastIndexOf("removed")).toBe(2001);
  expect(kinds.indexOf("added")).toBe(2002);
});

const lines = (count: number, changed = -1): string =>
  Array.from({ length: count }, (_, at) => (at === changed ? "changed" : `line ${at}`)).join("\n");

test("one changed line of a long text is one removed and one added line", () => {
  const diff = lineDiff(lines(20_000), lines(20_000, 12_345));
  expect(diff.filter(({ kind }) => kind !== "same")).toEqual([
    { kind: "removed", text: "line 12345" },
    { kind: "added", text: "changed" },
  ]);
  expect(diff).toHaveLength(20_001);
});

const texts = (diff: ReturnType<typeof foldedDiff>) =>
  diff.map((part) => (part.kind === "folded" ? part.count : signs[part.kind] + part.text));

test("unchanged lines are folded except for three before and after a change", () => {
  expect(texts(foldedDiff(lineDiff(lines(40), lines(40, 20))))).toEqual([
    17,
    " line 17",
    " line 18",
    " line 19",
    "-line 20",
    "+changed",
    " line 21",
    " line 22",
    " line 23",
    16,
  ]);
  // A fold of one line would be as long as the line.
  expect(texts(foldedDiff(lineDiff(lines(5), lines(5, 4))))).toEqual([
    " line 0",
    " line 1",
    " line 2",
    " line 3",
    "-line 4",
    "+changed",
  ]);
});

import { expect, test } from "vitest";
import { lineDiff } from "./line-diff.ts";

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

test("texts with too many lines are shown one after the other", () => {
  const [before, after] = ["a\n".repeat(2001), "a\n".repeat(2002)];
  const kinds = lineDiff(before, after).map(({ kind }) => kind);
  expect(kinds.lastIndexOf("removed")).toBe(2001);
  expect(kinds.indexOf("added")).toBe(2002);
});

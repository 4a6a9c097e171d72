import { expect, test } from "vitest";
import { firstOf } from "./first-of.ts";

test.each([
  [[], 3, ", ", ""],
  [["a"], 3, ", ", "a"],
  [["a", "b", "c"], 3, ", ", "a, b, c"],
  [["a", "b", "c", "d", "e"], 3, ", ", "a, b, c and 2 more"],
  [["a", "b", "c"], 2, "; ", "a; b; and 1 more"],
] as const)("of %j, the first %i are shown", (texts, max, separator, expected) => {
  expect(firstOf(texts, { max, separator })).toBe(expected);
});

test("the text of what is not shown is not made", () => {
  const made: number[] = [];
  const text = (one: number): string => `${made.push(one)}`;
  expect(firstOf([7, 8, 9], { max: 2, text })).toBe("1, 2 and 1 more");
  expect(made).toEqual([7, 8]);
});

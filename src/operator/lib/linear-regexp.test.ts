import { expect, test } from "vitest";
import { LinearRegExp, linearRegExp, RegExpProblem, replacementOf } from "./linear-regexp.ts";

const parse = (source: string): LinearRegExp => {
  const parsed = linearRegExp(source);
  if (parsed instanceof LinearRegExp) return parsed;
  throw new Error(parsed.message);
};
const problemOf = (source: string): string | undefined => {
  const parsed = linearRegExp(source);
  return parsed instanceof RegExpProblem ? parsed.message : undefined;
};
/** Returns the text with every match replaced, or what is wrong with the replacement. */
function replaced(source: string, target: string, text: string): string {
  const replace = replacementOf(parse(source), target);
  return typeof replace === "function" ? replace(text) : replace.message;
}

test.each([
  ["a(b", "missing closing ) at position 3"],
  ["a)b)", "unexpected ) at position 2"],
  ["x[a", "missing closing ] at position 2"],
  ["a**", "invalid nested repetition operator at position 2"],
  ["ab(?=c)", "invalid or unsupported Perl syntax at position 3"],
  ["(a)\\1", "invalid escape sequence at position 4"],
  ["a\\", "trailing backslash at end of expression at position 2"],
  ["(?P<n>a)(?P<n>b)", "duplicate capture group name at position 13"],
  ["a{1001}", "invalid repeat count at position 2"],
  ["[a-z]{300}[a-z]{300}", "too complex: use smaller repeat counts"],
])("%s is invalid: %s", (source, problem) => {
  expect(problemOf(source)).toEqual(problem);
  expect(problemOf(source)).toEqual(problem);
});

test("an expression matches a part of a text unless it is anchored", () => {
  expect(["shop-db", "my-shop-db"].map((name) => parse("^shop-").test(name))).toEqual([
    true,
    false,
  ]);
  expect(parse("shop").test("my-shop-db")).toBe(true);
  expect(parse("^\\p{Greek}😀$").test("λ😀")).toBe(true);
});

test("an expression that makes a backtracking engine run forever ends", () => {
  expect(parse("^(a+)+$").test(`${"a".repeat(50_000)}!`)).toBe(false);
});

test("the expressions that are kept are those that were compiled last", () => {
  for (let each = 0; each < 1_100; each += 1)
    expect(parse(`^x${each}$`).test(`x${each}`)).toBe(true);
  expect(parse("^x0$").test("x0")).toBe(true);
});

test.each([
  ["^shop-(.*)$", "$1", "shop-db", "db"],
  ["^shop-(.*)$", "$1", "other", "other"],
  ["[^a-z]", "_", "a/b c", "a_b_c"],
  ["(?P<team>[a-z]+)/(.*)", "${2}.${team}", "shop/db", "db.shop"],
  ["(a)(x)?", "$2$1$$", "a", "a$"],
  ["é(.)", "$1", "😀é😀x", "😀😀x"],
  ["a", "", "aaa", ""],
])("%s replaced by %s turns %s into %s", (source, target, text, expected) => {
  expect(replaced(source, target, text)).toBe(expected);
});

test.each([
  ["(a)", "x$", "a dollar sign that is neither $1, ${name} nor $$ at position 2"],
  ["(a)", "${", "a dollar sign that is neither $1, ${name} nor $$ at position 1"],
  ["(a)", "$1$2", "the expression has no group 2 at position 3"],
  ["(a)", "${b}", "the expression has no group b at position 1"],
  ["(a)", "${constructor}", "the expression has no group constructor at position 1"],
])("for %s the replacement %s is invalid: %s", (source, target, problem) => {
  expect(replaced(source, target, "a")).toBe(problem);
});

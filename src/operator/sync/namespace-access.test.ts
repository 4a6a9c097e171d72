import * as fc from "fast-check";
import { expect, test } from "vitest";
import { globMatcher } from "./namespace-access.ts";

test.each<[glob: string, matching: string[], others: string[]]>([
  ["shop-db", ["shop-db"], ["shop-db2", "a-shop-db", "Shop-db", ""]],
  ["shop-*", ["shop-", "shop-db", "shop-a/b"], ["shop", "a-shop-db"]],
  ["*", ["", "a", "a/b\n*"], []],
  ["*-db", ["-db", "shop-db", "-db-db"], ["shop-db1"]],
  ["a*b*c", ["abc", "a-b-c", "abbc"], ["ab", "acb", "abcd"]],
  ["a*a", ["aa", "aba"], ["a"]],
  ["ab*ba", ["abba"], ["aba"]],
  ["a**b", ["ab", "a-b"], ["a"]],
  ["shop.db", ["shop.db"], ["shopxdb"]],
  ["[a-z]?(x|y)+$", ["[a-z]?(x|y)+$"], ["a", "x"]],
])("the glob %s matches what it says", (glob, matching, others) => {
  const matches = globMatcher(glob);
  expect(matching.filter((text) => !matches(text))).toEqual([]);
  expect(others.filter(matches)).toEqual([]);
});

test("a glob matches the same texts as the regular expression that it stands for", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
  fc.assert(
    fc.property(text, text, (glob, name) => {
      const expected = new RegExp(`^${glob.replaceAll("*", "[^]*")}$`).test(name);
      expect(globMatcher(glob)(name)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

import { expect, test } from "vitest";
import { folded, searchFor } from "./search.ts";

test.each([
  ["e", "Caf\u00E9"],
  ["CAF\u00C9", "cafe"],
  ["cafe\u0301", "Caf\u00E9"],
  ["zürich DB", "prod/zurich/db"],
  ["i", "\u0130"],
  ["", "anything"],
])("the search for %j finds %j", (search, text) => {
  expect(searchFor(search)([folded(text)])).toBe(true);
});

test.each([
  ["e", "o"],
  ["cafe db", "caf\u00E9"],
  ["^", "a"],
])("the search for %j does not find %j", (search, text) => {
  expect(searchFor(search)([folded(text)])).toBe(false);
});

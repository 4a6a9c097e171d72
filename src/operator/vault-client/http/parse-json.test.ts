import { expect, test } from "vitest";
import { parseJson } from "./parse-json.ts";

test.each([
  ["two versions of one entry", '{"secrets":[{"key_name":"a","key_version":1,"key_version":2}]}'],
  ["two names that differ by an escape", '{"key_value":"a","key\\u005fvalue":"b"}'],
  ["65 levels", "[".repeat(65) + "]".repeat(65)],
  ["no JSON", "<html>"],
])("parseJson returns undefined for %s", (_, text) => {
  expect(parseJson(Buffer.from(text))).toBeUndefined();
});

test("parseJson accepts equal names in different objects, and a byte order mark", () => {
  const list = [{ key_name: "a" }, { key_name: "a" }];
  expect(parseJson(Buffer.from(`\uFEFF${JSON.stringify(list)}`))).toEqual(list);
});

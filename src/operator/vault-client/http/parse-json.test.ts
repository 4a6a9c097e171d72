import { expect, test } from "vitest";
import { parseJson } from "./parse-json.ts";

const parse = (text: string): unknown => parseJson(Buffer.from(text));

test.each([
  ["brackets in strings do not count", `{"a":"${"[".repeat(500)}\\"{{{"}`, { a: `${"[".repeat(500)}"{{{` }],
  ["64 levels are read", "[".repeat(64) + "]".repeat(64), JSON.parse("[".repeat(64) + "]".repeat(64))],
  ["many siblings are not depth", `[${"[],".repeat(500)}[]]`, Array.from({ length: 501 }, () => [])],
  ["a byte order mark is skipped", '\uFEFF{"a":1}', { a: 1 }],
])("%s", (_, text, value) => {
  expect(parse(text)).toEqual(value);
});

test.each([
  ["65 levels", "[".repeat(65) + "]".repeat(65)],
  ["100 000 levels", '{"a":'.repeat(100_000)],
  ["nothing", ""],
  ["NaN", '{"a":NaN}'],
  ["a cut-off text", '{"a":"b'],
  ["something after it", "{} {}"],
])("%s is not taken", (_, text) => {
  expect(parse(text)).toBeUndefined();
});

test("bytes that are not UTF-8 are not taken", () => {
  expect(parseJson(Buffer.from('{"a":"\xff"}', "latin1"))).toBeUndefined();
});

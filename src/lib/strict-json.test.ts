import { describe, expect, test } from "vitest";
import { parseStrictJson } from "./strict-json.ts";

const parse = (text: string, uniqueNames = false): unknown => parseStrictJson(Buffer.from(text), { maxDepth: 64, uniqueNames });

describe("parseStrictJson", () => {
  test.each([
    ["ignores brackets inside strings", `{"a":"${"[".repeat(500)}\\"{{{"}`, { a: `${"[".repeat(500)}"{{{` }],
    ["accepts 64 levels", "[".repeat(64) + "]".repeat(64), JSON.parse("[".repeat(64) + "]".repeat(64))],
    ["does not count siblings as depth", `[${"[],".repeat(500)}[]]`, Array.from({ length: 501 }, () => [])],
    ["skips a byte order mark", '\uFEFF{"a":1}', { a: 1 }],
  ])("%s", (_, text, value) => {
    expect(parse(text)).toEqual(value);
    expect(parse(text, true)).toEqual(value);
  });

  test.each([
    ["65 levels", "[".repeat(65) + "]".repeat(65), "nested deeper than 64 levels"],
    ["100,000 levels", '{"a":'.repeat(100_000), "nested deeper than 64 levels"],
    ["an empty text", "", "not valid JSON in UTF-8"],
    ["NaN", '{"a":NaN}', "not valid JSON in UTF-8"],
    ["a truncated text", '{"a":"b', "not valid JSON in UTF-8"],
    ["trailing data", "{} {}", "not valid JSON in UTF-8"],
    ["more closing than opening brackets", "]]]]{}", "not valid JSON in UTF-8"],
  ])("rejects %s", (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
    expect(() => parse(text, true)).toThrow(message);
  });

  test("rejects bytes that are not UTF-8", () => {
    expect(() => parseStrictJson(Buffer.from('{"a":"\xff"}', "latin1"), { maxDepth: 64 })).toThrow("not valid JSON in UTF-8");
  });

  test.each([
    ["of one object", '{"a":1,"a":2}'],
    ["that differ by an escape", '{"a":1,"\\u0061":2}'],
    ["around a nested object", '{"a":{"b":1},"a":2}'],
  ])("with uniqueNames rejects two equal names %s", (_, text) => {
    expect(() => parse(text, true)).toThrow("an object has two members of one name");
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test("with uniqueNames accepts one name in several objects", () => {
    const text = '[{"a":{"a":1}},{"a":"a"}]';
    expect(parse(text, true)).toEqual(JSON.parse(text));
  });
});

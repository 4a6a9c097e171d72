import { afterEach, describe, expect, test, vi } from "vitest";
import { parseStrictJson } from "./strict-json.ts";

const parse = (text: string, uniqueNames = false): unknown =>
  parseStrictJson(Buffer.from(text), { maxDepth: 64, uniqueNames });

/** Returns the number of characters that are decoded to check and parse the text. */
const decoded = (text: string): number => {
  const decode = vi.spyOn(JSON, "parse");
  try {
    parse(text, true);
  } catch {
    // Rejected texts count as well.
  }
  const characters = decode.mock.calls.reduce((sum, [part]) => sum + part.length, 0);
  decode.mockRestore();
  return characters;
};

describe("parseStrictJson", () => {
  test.each([
    [
      "ignores brackets inside strings",
      `{"a":"${"[".repeat(500)}\\"{{{"}`,
      { a: `${"[".repeat(500)}"{{{` },
    ],
    [
      "accepts 64 levels",
      "[".repeat(64) + "]".repeat(64),
      JSON.parse("[".repeat(64) + "]".repeat(64)),
    ],
    [
      "does not count siblings as depth",
      `[${"[],".repeat(500)}[]]`,
      Array.from({ length: 501 }, () => []),
    ],
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
    expect(() => parseStrictJson(Buffer.from('{"a":"\xff"}', "latin1"), { maxDepth: 64 })).toThrow(
      "not valid JSON in UTF-8",
    );
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

  test.each([
    ["a colon without a string", '{"a":1:2}'],
    ["a colon after a string of an array", '{"a":["b"]:1}'],
    ["a colon after a comma", '{"a",:1}'],
    ["a name with a malformed escape", '{"\\u00":1}'],
  ])("with uniqueNames rejects %s", (_, text) => {
    expect(() => parse(text, true)).toThrow("not valid JSON in UTF-8");
  });

  test("with uniqueNames rejects a member name of more than 4 KiB, not a value", () => {
    const long = "x".repeat(4095);
    expect(() => parse(`{"${long}":1}`, true)).toThrow("a member name is longer than 4096 bytes");
    expect(parse(`{"${long.slice(1)}":"${long}"}`, true)).toEqual({ [long.slice(1)]: long });
    expect(parse(`{"${long}":1}`)).toEqual({ [long]: 1 });
  });
});

const parseSome = (text: string, maxValues: number) =>
  parseStrictJson(Buffer.from(text), { maxDepth: 64, maxValues });

test("parseStrictJson counts members, elements, arrays and objects", () => {
  for (const [text, values] of [
    ["[0,0,0]", 3],
    ['{"a":1,"b":[]}', 5],
  ] as const) {
    expect(parseSome(text, values)).toEqual(JSON.parse(text));
    expect(() => parseSome(text, values - 1)).toThrow(
      `more than ${values - 1} members and elements`,
    );
  }
});

describe("work of parseStrictJson", () => {
  afterEach(() => vi.restoreAllMocks());

  test.each([
    [
      "a string followed by colons in arrays",
      (size: number) => `"${"A".repeat(size / 2)}"${"[:]".repeat(size / 6)}`,
    ],
    [
      "a short string followed by colons in arrays",
      (size: number) => `"${"A".repeat(2000)}"${"[:]".repeat(size / 3)}`,
    ],
    ["a name with many colons", (size: number) => `{"${"A".repeat(2000)}"${":".repeat(size)}`],
    [
      "a string in nested arrays",
      (size: number) => `["${"A".repeat(2000)}",${"[:],".repeat(size / 4)}1]`,
    ],
    [
      "a name before many values",
      (size: number) => `{"${"A".repeat(2000)}":${"{:1},".repeat(size / 5)}1}`,
    ],
    [
      "members",
      (size: number) =>
        `{${Array.from({ length: size / 10 }, (_, index) => `"${index}":1`).join()}}`,
    ],
  ])("is linear in the length of %s", (_, text) => {
    for (const size of [6_000, 96_000]) {
      const body = text(size);
      expect(decoded(body)).toBeLessThanOrEqual(2 * body.length);
    }
  });
});

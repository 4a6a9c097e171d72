import { describe, expect, test } from "vitest";
import { syncItem } from "../../../test/lab/kube/sync-resource.ts";
import { extract, transform } from "./transform.ts";
import type { SyncItem } from "./sync-resource.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const SECRET = "hunter2-of-the-value";

/** Returns the text that an item makes of a value, or the reason and the message. */
function made(value: string | Uint8Array, changes: Partial<SyncItem>): string {
  const result = transform(
    syncItem("k", { source: "db", ...changes }),
    typeof value === "string" ? bytes(value) : value,
  );
  return "reason" in result
    ? `${result.reason}: ${result.message}`
    : Buffer.from(result).toString("latin1");
}

describe("property", () => {
  test.each([
    ["a string", '{"a": "x"}', "x"],
    ["an empty string", '{"a": ""}', ""],
    ["a number with its digits", '{"a": 12345678901234567890}', "12345678901234567890"],
    ["a number that no double has", '{"a": 1e400}', "1e400"],
    ["a boolean", '{"a": false}', "false"],
    ["null", '{"a": null}', "null"],
    ["an array in its own text", '{"a": [1,  2]}', "[1,  2]"],
    ["an object in its own text", '{"a": {"n": 1.0}}', '{"n": 1.0}'],
    ["a member after a byte order mark", '\ufeff{"a": "x"}', "x"],
  ])("yields %s", (_, value, expected) => {
    expect(made(value, { property: "/a" })).toBe(expected);
  });

  test("yields text in UTF-8", () => {
    expect(
      Buffer.from(made('{"a": "\\u00e9\\ud83d\\ude00"}', { property: "/a" }), "latin1").toString(),
    ).toBe("é😀");
  });

  test.each([
    ["no JSON", `${SECRET}{`, "db: the value is not valid JSON in UTF-8"],
    ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "db: the value is not valid JSON in UTF-8"],
    [
      "nested too deeply",
      "[".repeat(65) + "]".repeat(65),
      "db: the value is nested deeper than 64 levels",
    ],
    ["no object", `"${SECRET}"`, "db: the value has nothing at /a"],
    ["an object without the member", `{"${SECRET}": 1}`, "db: the value has nothing at /a"],
    [
      "an object with two such members",
      `{"a": "${SECRET}", "a": 1}`,
      "db: the value has several members at /a",
    ],
    [
      "a string of half a surrogate pair",
      String.raw`{"a": "\ud800${SECRET}"}`,
      "db: the text at /a is not valid Unicode",
    ],
  ])(
    "of a value that is %s is InvalidProperty, without a part of the value",
    (_, value, message) => {
      expect(made(value, { property: "/a" })).toBe(`InvalidProperty: ${message}`);
    },
  );
});

describe("decoding", () => {
  test.each([
    ["Base64", "aGk/Pz8+Pj4=", "hi???>>>"],
    ["Base64", "aGk/Pz8+Pj4", "hi???>>>"],
    ["Base64", " aGk/\r\nPz8+Pj4=\n", "hi???>>>"],
    ["Base64", "", ""],
    ["Base64", "AAH//g==", "\x00\x01\xff\xfe"],
    ["Base64URL", "aGk_Pz8-Pj4", "hi???>>>"],
    ["Base64URL", "aGk_Pz8-Pj4=", "hi???>>>"],
  ] as const)("%s turns %j into %j", (decoding, value, expected) => {
    expect(made(value, { decoding })).toBe(expected);
  });

  test.each([
    ["Base64", "aGk_Pz8-Pj4="],
    ["Base64URL", "aGk/Pz8+Pj4="],
    ["Base64", "a"],
    ["Base64", "aGk/P"],
    ["Base64", "aGk==="],
    ["Base64", "aG=="],
    ["Base64", "aGk=aGk="],
    ["Base64", "aGk*"],
    ["Base64", "aGk\u00e9"],
  ] as const)("%s of %j: the malformed value is InvalidProperty", (decoding, value) => {
    const expected =
      decoding === "Base64" && value === "aG=="
        ? "h"
        : `InvalidProperty: db: the value is not valid ${decoding}`;
    expect(made(value, { decoding })).toBe(expected);
  });

  test("follows property", () => {
    expect(made('{"a": "aGk="}', { property: "/a", decoding: "Base64" })).toBe("hi");
    expect(made('{"a": "h i!"}', { property: "/a", decoding: "Base64" })).toContain(
      "the value at /a is not valid Base64",
    );
  });
});

test("without property and decoding the bytes stay the same", () => {
  expect(made(new Uint8Array([0, 255]), {})).toBe("\x00\xff");
});

/** Returns the members of a value, or the reason and the message. */
function members(value: string): string | string[] {
  const result = extract(syncItem("dataFrom[0]", { source: "db" }), bytes(value));
  if ("reason" in result) return `${result.reason}: ${result.message}`;
  return result.map(([name, one]) => `${name}=${Buffer.from(one).toString()}`);
}

describe("extract", () => {
  test("returns each member in its order, __proto__ included", () => {
    expect(members('{"b": "x", "1": 1.0, "__proto__": {"c": [] }, "": null}')).toEqual([
      "b=x",
      "1=1.0",
      '__proto__={"c": [] }',
      "=null",
    ]);
    expect(members(" {} ")).toEqual([]);
  });

  test.each([
    ["an array", "[1]"],
    ["a string", `"${SECRET}"`],
    ["null", "null"],
  ])("of %s is InvalidProperty", (_, value) => {
    expect(members(value)).toMatch(/^InvalidProperty: db: the value is not a JSON object/);
    expect(members(value)).not.toContain(SECRET);
  });

  test("of no JSON, or of half a surrogate pair, is InvalidProperty without a part of the value", () => {
    expect(members(SECRET)).toBe("InvalidProperty: db: the value is not valid JSON in UTF-8");
    expect(members(String.raw`{"a": 1, "${SECRET}": "\udc00"}`)).toBe(
      "InvalidProperty: db: the text of member 2 is not valid Unicode",
    );
  });
});

import { describe, expect, test } from "vitest";
import { rendered, renderedBytes } from "../../../../test/lab/template/render.ts";

describe("functions of text", () => {
  test.each([
    ["upper", "straße Ä", "STRASSE Ä"],
    ["lower", "ÀB", "àb"],
    ["trim", " \n a b \t", "a b"],
    ["urlencode", "a b/ü?&'()*!~", "a%20b%2F%C3%BC%3F%26%27%28%29%2A%21~"],
    ["json", 'a"\n\\ü\u0001', String.raw`"a\"\n\\ü\u0001"`],
    ["quote", "a\"b$c`d\\e'f", '"a\\"b\\$c\\`d\\\\e\'f"'],
    ["indent: 2", "a\nb\n\n c\n", "a\n  b\n\n   c\n"],
    ["base64", "ü", "w7w="],
    ["base64decode", "w7\nw=\n", "ü"],
    ['default: "x"', "", "x"],
    ['default: "x"', "0", "0"],
  ])("%s of %j", (name, value, expected) => {
    expect(rendered(`{{ value | ${name} }}`, { value })).toBe(expected);
  });

  test("base64 and base64decode keep bytes", () => {
    const value = Buffer.from([0, 255, 128]);
    expect(rendered("{{ value | base64 }}", { value })).toBe("AP+A");
    expect(renderedBytes("{{ value | base64 | base64decode }}", { value })).toEqual(value);
  });

  test.each([
    ["base64decode", "a", "the variable value is not base64"],
    ["base64decode", "a-b_", "the variable value is not base64"],
    ["indent: 33", "a", "expected a number of spaces up to 32"],
    ["indent: -1", "a", "expected a number of spaces up to 32"],
    ["urlencode", "\u{d800}", ""],
  ])("%s rejects %j", (name, value, message) => {
    const bytes = message === "" ? Buffer.from([0xed, 0xa0, 0x80]) : value;
    expect(() => rendered(`{{ value | ${name} }}`, { value: bytes })).toThrow(
      message || "is not UTF-8 text",
    );
  });

  test("an unpaired surrogate in a literal is an error, not an exception", () => {
    expect(() => rendered(String.raw`{{ "\uD800" | urlencode }}`)).toThrow(
      "the expression cannot be evaluated",
    );
  });
});

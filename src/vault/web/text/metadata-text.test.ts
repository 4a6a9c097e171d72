import { expect, test } from "vitest";
import { isBrokenJson, metadataText, metadataValue, metadataLabel } from "./metadata-text.ts";
import { defaultMetadata } from "../../../protocol/metadata.ts";

test.each([
  "plain",
  "two words",
  "top",
  "n/a",
  " 1",
  "-",
  "-1",
  "1e3",
  "\n[]",
  " false ",
  "nullx",
  "",
  "10",
  "true",
  "null",
  '"quoted"',
  "{",
  '{"a":1}',
  10,
  0.5,
  true,
  null,
  [1, "2"],
  { a: { b: [null] } },
])("metadataValue restores %j from its text", (value) => {
  expect(metadataValue(metadataText(value))).toEqual(value);
});

test.each(["1e999", "12345678901234567890", "-9007199254740993"])(
  "%s stays text, because a number would lose digits",
  (text) => {
    expect(metadataValue(text)).toBe(text);
    expect(metadataText(text)).toBe(text);
  },
);

test.each([
  ["{bad json", true],
  ['{"account": 12345678901234567890}', true],
  [" [1, 2", true],
  ['{"a": 1}', false],
  ["[]", false],
  ["plain {text}", false],
  ["12a", false],
])("isBrokenJson of %j is %j", (text, broken) => {
  expect(isBrokenJson(text)).toBe(broken);
});

test("metadataText quotes only text that parses as JSON", () => {
  expect(metadataText("blue")).toBe("blue");
  expect(metadataText(10)).toBe("10");
  expect(metadataText("10")).toBe('"10"');
});

test("every standard name has a label that is not a word of the interface", () => {
  for (const name of Object.keys(defaultMetadata))
    expect(metadataLabel(name)).toMatch(/^[A-Z][a-z ]+$/u);
});

test("a custom name is its own label, whatever it is", () => {
  for (const name of ["team", "", "__proto__", "constructor", "Description"])
    expect(metadataLabel(name)).toBe(name);
});

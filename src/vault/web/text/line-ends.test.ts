import { expect, test } from "vitest";
import { lineEndOf } from "./line-ends.ts";

test.each([
  ["", "\n"],
  ["a\nb\n", "\n"],
  ["a\r\nb\r\n", "\r\n"],
  ["a\r\nb\n", undefined],
  ["a\rb", undefined],
])("line end of %j", (text, expected) => {
  expect(lineEndOf(text)).toBe(expected);
});

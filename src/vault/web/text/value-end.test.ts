import { expect, test } from "vitest";
import { valueEnd } from "./value-end.ts";

test.each([
  ["", undefined],
  ["a b\nc", undefined],
  ["a ", "Ends with a space."],
  ["a\n\n\n", "Ends with 3 newlines."],
  ["a \t\r\n\r\n", "Ends with a space, a tab and 2 newlines (CRLF)."],
  ["a\r", "Ends with a carriage return."],
])("white space at the end of %j is described", (value, words) => {
  expect(valueEnd(value)).toBe(words);
});

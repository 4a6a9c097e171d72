import { expect, test } from "vitest";
import { fileBytes, fileValue, lineEndOf, MAX_VALUE_BYTES, valueEnd } from "./value-format.ts";

test.each([
  ["", undefined],
  ["a b\nc", undefined],
  ["a ", "Ends with a space."],
  ["a\n\n\n", "Ends with 3 newlines."],
  ["a \t\r\n\r\n", "Ends with a space, a tab and 2 newlines (CRLF)."],
  ["a\r", "Ends with a carriage return."],
  ["a \t \t ", "Ends with 5 characters of white space."],
])("white space at the end of %j is described", (value, words) => {
  expect(valueEnd(value)).toBe(words);
});

test("white space within a value of 1 MiB does not block the page", () => {
  expect(valueEnd(`${" ".repeat(MAX_VALUE_BYTES - 1)}a`)).toBe(undefined);
});

test.each([
  ["", "\n"],
  ["a\nb\n", "\n"],
  ["a\r\nb\r\n", "\r\n"],
  ["a\r\nb\n", undefined],
  ["a\rb", undefined],
])("line end of %j", (text, expected) => {
  expect(lineEndOf(text)).toBe(expected);
});

test.each(["", "one\r\ntwo\n", "\uFEFFwith a mark", "nul \0 and 💚"])(
  "text %j keeps its bytes",
  (text) => {
    expect(fileValue(new TextEncoder().encode(text))).toEqual({ text, format: "text" });
  },
);

test("other bytes become Base64", () => {
  const bytes = Uint8Array.of(0, 0xff, 0xfe, 0x80, 10);
  expect(fileValue(bytes)).toEqual({ text: "AP/+gAo=", format: "base64" });
});

test("the bytes of a file that is no text are those that became Base64", () => {
  expect(fileBytes("AP/+gAo=")).toEqual(Uint8Array.of(0, 0xff, 0xfe, 0x80, 10));
});

test.each(["", "plain text", "aGVsbG8=", "AP/+gAo", "AP/+gAp=", "====", "AP-+gAo="])(
  "%j is no file that became Base64",
  (value) => {
    expect(fileBytes(value)).toBeUndefined();
  },
);

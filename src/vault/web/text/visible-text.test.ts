import { expect, test } from "vitest";
import { firstHidden, visibleParts, shortened } from "./visible-text.ts";

test.each([
  ["short", "short"],
  ["x".repeat(30), "x".repeat(30)],
  [`value of prod/${"x".repeat(40)}/cert`, "value of prod/…xxxxxxxxx/cert"],
  ["💚".repeat(31), `${"💚".repeat(14)}…${"💚".repeat(14)}`],
])("shortened: %s", (text, expected) => {
  expect(shortened(text)).toBe(expected);
});

const shown = (text: string) =>
  visibleParts(text)
    .map((part) => (part.hidden ? `[${part.text}]` : part.text))
    .join("");

test.each([
  ["shop/db #1", "shop/db #1"],
  ["two  spaces", "two  spaces"],
  ["evil\u202Egnp.exe", "evil[U+202E]gnp.exe"],
  ["a\u200Bb\u00A0c", "a[U+200B]b[U+00A0]c"],
  [" ends ", "[␣]ends[␣]"],
  ["   ", "[␣␣␣]"],
  ["a\u200Db", "a[U+200D]b"],
  ["👩‍💻 mañana 中 می‌خواهم", "👩‍💻 mañana 中 می‌خواهم"],
  ["\u{E0041}", "[U+E0041]"],
  ["a\uFE0F 1\uFE0F\u20E3 ❤\uFE0F", "a[U+FE0F] 1\uFE0F\u20E3 ❤\uFE0F"],
])("visible parts of %j", (text, expected) => {
  expect(shown(text)).toBe(expected);
});

test("firstHidden names the first character that cannot be seen", () => {
  expect(firstHidden("a\u200Eb\u202E")).toBe("U+200E");
  expect(firstHidden("two  spaces")).toBeUndefined();
});

import { expect, test } from "vitest";
import { field, readCount, readText } from "./field.ts";

test("a field is the first of its names that the object itself has, and that is not null", () => {
  const object = { a: null, b: undefined, c: 0, d: "later" };
  expect(field(object, "a", "b", "missing", "c", "d")).toBe(0);
  expect(field(object, "a", "toString", "constructor")).toBeUndefined();
});

test.each([
  [0, 0],
  [7, 7],
  ["7", 7],
  ["0007", 7],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ["9007199254740991", Number.MAX_SAFE_INTEGER],
])("the count %j is %d", (value, count) => {
  expect(readCount(value)).toBe(count);
});

test.each([
  -1,
  1.5,
  2 ** 53,
  NaN,
  Infinity,
  true,
  null,
  undefined,
  {},
  "",
  " 7",
  "7 ",
  "+7",
  "-7",
  "1e3",
  "0x7",
  "7.0",
  "9007199254740992",
  "00000000000000007",
])("%j is no count", (value) => {
  expect(readCount(value)).toBeUndefined();
});

test("a text has at least one character, and no lone half of a surrogate pair", () => {
  expect(readText("a")).toBe("a");
  for (const value of ["", "\ud800", 7, null, undefined, ["a"]])
    expect(readText(value)).toBeUndefined();
});

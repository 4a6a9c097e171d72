import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("drops what is undefined and keeps everything else, also what is falsy", () => {
  const object = { none: undefined, zero: 0, empty: "", no: false, nothing: null, list: [undefined] };
  expect(Object.keys(defined(object))).toEqual(["zero", "empty", "no", "nothing", "list"]);
  expect(Object.keys(object)).toHaveLength(6);
});

test("what is left is what a JSON document would hold", () => {
  const object = { a: 1, b: undefined, c: { d: "x" } };
  expect(defined(object)).toStrictEqual(JSON.parse(JSON.stringify(object)));
});

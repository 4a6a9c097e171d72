import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("defined drops undefined members and keeps other falsy ones", () => {
  const object = {
    none: undefined,
    zero: 0,
    empty: "",
    no: false,
    nothing: null,
    list: [undefined],
  };
  expect(Object.keys(defined(object))).toEqual(["zero", "empty", "no", "nothing", "list"]);
  expect(Object.keys(object)).toHaveLength(6);
});

test("the defined members are those that JSON contains", () => {
  const object = { a: 1, b: undefined, c: { d: "x" } };
  expect(defined(object)).toStrictEqual(JSON.parse(JSON.stringify(object)));
});

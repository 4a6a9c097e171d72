import { expect, test } from "vitest";
import { reuseEqual } from "./reuse-equal.ts";

const before = {
  spec: { list: [{ name: "a" }, { name: "b" }] },
  status: { ready: false, times: [1, 2] },
  gone: { deep: 1 },
};

test("reuseEqual returns the former value if the new one is equal", () => {
  expect(reuseEqual(before, structuredClone(before))).toBe(before);
  expect(reuseEqual("a", "a")).toBe("a");
  expect(reuseEqual<string | undefined>("a", undefined)).toBeUndefined();
  expect(reuseEqual(undefined, 1)).toBe(1);
});

test("reuseEqual returns a value equal to the new one, with the equal parts of the former", () => {
  const now = {
    spec: { list: [{ name: "a" }, { name: "c" }, 3] },
    status: { ready: false, times: [1, 2] },
    new: null,
  };
  const expected = structuredClone(now);
  const result = reuseEqual<object>(before, now);
  expect(result).toEqual(expected);
  expect(result).toHaveProperty("status", before.status);
  expect(Reflect.get(result, "status")).toBe(before.status);
  expect(now).toEqual(expected);
});

test.each<[unknown, unknown]>([
  [{ a: 1 }, { a: 1, b: undefined }],
  [["a"], { 0: "a" }],
  [{ 0: "a" }, ["a"]],
  [["a", "b"], ["a"]],
  [{ a: 1 }, {}],
  [{ a: 1, b: 2 }, { a: 1 }],
  [{ a: {} }, { a: [] }],
  [{ a: null }, { a: {} }],
  [{ a: "1" }, { a: 1 }],
  [{ a: 1 }, { b: undefined }],
  [{ a: new Map([["b", 1]]) }, { a: new Map([["b", 2]]) }],
  [{ a: new Date(1) }, { a: new Date(2) }],
  [{ a: Buffer.from("b") }, { a: Buffer.from("c") }],
  [{ a: {} }, JSON.parse('{"__proto__":{}}')],
])("reuseEqual of %j and %j returns the latter", (earlier, later) => {
  expect(reuseEqual(earlier, later)).toStrictEqual(later);
});

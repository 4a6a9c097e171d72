import { expect, test } from "vitest";
import { jsonPointerOf } from "./json-pointer-of.ts";

test.each([
  ["password", "/password"],
  ["users.0.name", "/users/0/name"],
  ["tls\\.crt", "/tls.crt"],
  ["a/b.c~d", "/a~1b/c~0d"],
])("%j is the JSON Pointer %j", (path, pointer) => {
  expect(jsonPointerOf(path)).toBe(pointer);
});

test.each(["users.#.name", "a*", "a|b", 'users.#(name=="x")', "a.@reverse", "{a}"])(
  "%j has none",
  (path) => {
    expect(jsonPointerOf(path)).toBeUndefined();
  },
);

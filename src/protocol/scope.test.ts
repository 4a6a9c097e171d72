import { expect, test } from "vitest";
import { isWithin, type Scope, unlimitedScope } from "./scope.ts";

const named = (...names: readonly string[]): Scope => ({
  ...unlimitedScope,
  secret_name: new Set(names),
});

test.each<[string, Scope, Scope, boolean]>([
  ["an unlimited one within an unlimited one", unlimitedScope, unlimitedScope, true],
  ["a limited one within an unlimited one", named("a"), unlimitedScope, true],
  ["an unlimited one not within a limited one", unlimitedScope, named("a"), false],
  ["a narrower one within a wider one", named("a"), named("a", "b"), true],
  ["a wider one not within a narrower one", named("a", "b"), named("a"), false],
  ["one with another limit", { ...named("a"), cloud_type: new Set(["aws"]) }, named("a"), true],
  ["one without a second limit", named("a"), { ...named("a"), cloud_type: new Set(["x"]) }, false],
])("isWithin reports %s", (_, scope, limit, expected) => {
  expect(isWithin(scope, limit)).toBe(expected);
});

import { expect, test } from "vitest";
import * as fc from "fast-check";
import {
  isWithin,
  type Scope,
  unlimitedScope,
  formatScope,
  parseScope,
  scopeAttributes,
  InvalidScopeError,
  scopeReaches,
} from "./scope.ts";

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

test("formats the unlimited scope", () => {
  expect(formatScope(unlimitedScope)).toBe(
    "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*",
  );
});

test("repeats the attribute for several values, in sorted order", () => {
  const classification = new Set(["top", "low"]);
  expect(formatScope({ ...unlimitedScope, classification })).toContain(
    ",classification:low,classification:top,",
  );
});

test.each([
  ["a,b", "a%2Cb"],
  ["a b\tc\u00a0d", "a%20b%09c%C2%A0d"],
  ["100%", "100%25"],
  ["a:b", "a:b"],
  ["größe😀", "größe😀"],
  ["*", "%2A"],
  ["all", "%61ll"],
  ["a*", "a*"],
  ["wall", "wall"],
  ["\ud800", "\ufffd"],
])("escapes the secret name %j as %j", (name, escaped) => {
  const text = formatScope({ ...unlimitedScope, secret_name: new Set([name]) });
  expect(text).toMatch(/,secret_name:/);
  expect(text.slice(text.indexOf("secret_name:") + 12)).toBe(escaped);
});

test.each([[[]], [[""]], [["a", ""]]])("rejects the values %j", (values) => {
  expect(() => formatScope({ ...unlimitedScope, secret_name: new Set(values) })).toThrow(
    RangeError,
  );
});

test("parseScope returns every formatted scope unchanged", () => {
  const values = fc.oneof(
    fc.constant("*" as const),
    fc
      .array(fc.string({ minLength: 1, unit: "grapheme" }), { minLength: 1 })
      .map((all) => new Set(all)),
  );
  const scopes = fc.record({
    cloud_type: values,
    environment_type: values,
    application_type: values,
    classification: values,
    secret_name: values,
  });
  expect.hasAssertions();
  fc.assert(
    fc.property(scopes, (scope) => {
      expect(parseScope(formatScope(scope))).toEqual(scope);
    }),
  );
});

const everything =
  "cloud_type:*,environment_type:all,application_type:*,classification:*,secret_name:*";

test("the bare words * and all mean every value, even next to other values", () => {
  expect(parseScope(everything)).toEqual(unlimitedScope);
  expect(parseScope(`cloud_type:aws,${everything}`)).toEqual(unlimitedScope);
});

test("accepts attributes in any order, splits at the first colon and decodes values", () => {
  const text =
    "secret_name:a:b,classification:*,cloud_type:x%2Cy,environment_type:*,cloud_type:%2A,application_type:%61ll";
  expect(parseScope(text)).toEqual({
    secret_name: new Set(["a:b"]),
    classification: "*",
    cloud_type: new Set(["x,y", "*"]),
    environment_type: "*",
    application_type: new Set(["all"]),
  });
});

test.each([
  "",
  "cloud_type",
  `${everything},`,
  `${everything},x:*`,
  everything.replace("cloud_type:*,", ""),
  `${everything} `,
  everything.replace("cloud_type:*", "cloud_type:%E4"),
])("rejects %j without quoting it", (text) => {
  expect(() => parseScope(text)).toThrow(InvalidScopeError);
});

test("scopeReaches is true exactly when each attribute admits the value of the secret", () => {
  const small = fc.constantFrom("a", "b", "*", "all");
  const smallScope = fc.record({
    cloud_type: fc.oneof(
      fc.constant("*" as const),
      fc.uniqueArray(small, { minLength: 1 }).map((values) => new Set(values)),
    ),
    environment_type: fc.constant("*" as const),
    application_type: fc.constant("*" as const),
    classification: fc.uniqueArray(small, { minLength: 1 }).map((values) => new Set(values)),
    secret_name: fc.oneof(
      fc.constant("*" as const),
      fc.uniqueArray(small, { minLength: 1 }).map((values) => new Set(values)),
    ),
  });
  const secret = fc.record({
    cloud_type: small,
    environment_type: small,
    application_type: small,
    classification: small,
  });
  fc.assert(
    fc.property(smallScope, small, secret, (scope, name, metadata) => {
      const actual = { ...metadata, secret_name: name };
      const model = scopeAttributes.every(
        (attribute) =>
          scope[attribute] === "*" || [...scope[attribute]].includes(actual[attribute]),
      );
      expect(scopeReaches(scope, name, metadata)).toBe(model);
    }),
  );
});

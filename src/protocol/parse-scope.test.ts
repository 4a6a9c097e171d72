import * as fc from "fast-check";
import { expect, test } from "vitest";
import { InvalidScopeError, parseScope, scopeReaches } from "./parse-scope.ts";
import { scopeAttributes, unlimitedScope } from "./scope.ts";

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

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatScope } from "./format-scope.ts";
import { parseScope } from "./parse-scope.ts";
import { unlimitedScope } from "./scope.ts";

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

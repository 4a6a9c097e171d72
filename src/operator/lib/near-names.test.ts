import { expect, test } from "vitest";
import { nearNames } from "./near-names.ts";

test.each([
  ["shop-bd", ["shop-db", "other"], "shop-db"],
  ["shopdb", ["shop-db"], "shop-db"],
  ["payment-keys", ["payments-key", "payment-key"], "payment-key"],
  ["db", ["bd"], undefined],
  ["shop-db", ["web-tls"], undefined],
  ["token-1", ["tokens-22"], undefined],
  ["api-key", ["api-key", "api-keys"], "api-keys"],
])("the near name of %s among %j is %s", (name, known, expected) => {
  expect(nearNames([name], known).get(name)).toBe(expected);
});

test("too many names are compared in part only", () => {
  const known = Array.from({ length: 3_000 }, (_, index) => `${"x".repeat(250)}${index}`);
  const others = Array.from({ length: 100 }, (_, index) => `${"x".repeat(250)}${index}y`);
  const near = nearNames(others, known);
  expect(near.size).toBeGreaterThan(0);
  expect(near.size).toBeLessThan(others.length);
});

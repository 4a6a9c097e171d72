import * as fc from "fast-check";
import { expect, test } from "vitest";
import { editsBetween, nearNames } from "./near-names.ts";

/** The whole matrix, without limits. */
function reference(a: string, b: string): number {
  const d = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_unused, j) => (i === 0 ? j : i)),
  );
  const at = (i: number, j: number): number => d[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const swap =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      d[i]![j] = Math.min(at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1), at(i - 1, j) + 1, at(i, j - 1) + 1, swap);
    }
  }
  return at(a.length, b.length);
}

test("editsBetween equals the distance of the whole matrix up to its limit", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 9 });
  fc.assert(
    fc.property(name, name, fc.integer({ min: 0, max: 3 }), (a, b, most) => {
      const edits = reference(a, b);
      expect(editsBetween(a, b, most).edits).toBe(edits > most ? undefined : edits);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["shop-bd", ["shop-db", "other"], "shop-db"],
  ["shopdb", ["shop-db"], "shop-db"],
  ["payment-keys", ["payments-key", "payment-key"], "payment-key"],
  ["db", ["bd"], undefined],
  ["shop-db", ["web-tls"], undefined],
  ["token-1", ["token-22"], undefined],
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

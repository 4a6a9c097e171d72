import * as fc from "fast-check";
import { expect, test } from "vitest";
import { jitter, systemRandom } from "./random.ts";

test("jitter spreads evenly around the value, at most by the share", () => {
  expect(jitter(() => 0, 100, 0.1)).toBe(90);
  expect(jitter(() => 0.5, 100, 0.1)).toBe(100);
  expect(jitter(() => 0.75, 100, 0.1)).toBeCloseTo(105);
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 1, max: 1e6 }),
      (chance, value) => {
        const spread = jitter(() => chance, value, 0.1);
        expect(spread).toBeGreaterThanOrEqual(value * 0.9 - 1e-6);
        expect(spread).toBeLessThanOrEqual(value * 1.1 + 1e-6);
      },
    ),
  );
});

test("systemRandom returns varying numbers in [0, 1)", () => {
  const numbers = Array.from({ length: 100 }, systemRandom);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  expect(new Set(numbers).size).toBeGreaterThan(90);
});

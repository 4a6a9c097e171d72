import { expect, test } from "vitest";
import { mannWhitneyZ } from "./mann-whitney.ts";

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

test("returns 0 for equal samples and a large signed deviate for distinct ones", () => {
  expect(mannWhitneyZ(upTo(20), upTo(20))).toBe(0);
  expect(mannWhitneyZ(upTo(20, 100), upTo(20))).toBeCloseTo(5.41, 2);
  expect(mannWhitneyZ(upTo(20), upTo(20, 100))).toBeCloseTo(-5.41, 2);
  expect(mannWhitneyZ([1, 1, 1], [1, 1])).toBe(0);
});

test("corrects for ties as in the textbook formula", () => {
  expect(mannWhitneyZ([1, 2, 4], [2, 3, 5])).toBeCloseTo(
    (2.5 - 4.5) / Math.sqrt(0.75 * (7 - 6 / 30)),
    10,
  );
});

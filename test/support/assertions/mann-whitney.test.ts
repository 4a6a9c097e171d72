import { expect, test } from "vitest";
import { mannWhitneyZ } from "./mann-whitney.ts";

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

test("equal samples have no deviate, apart ones a large one, with the sign of the first", () => {
  expect(mannWhitneyZ(upTo(20), upTo(20))).toBe(0);
  expect(mannWhitneyZ(upTo(20, 100), upTo(20))).toBeCloseTo(5.41, 2);
  expect(mannWhitneyZ(upTo(20), upTo(20, 100))).toBeCloseTo(-5.41, 2);
  expect(mannWhitneyZ([1, 1, 1], [1, 1])).toBe(0);
});

test("a textbook case with ties", () => {
  expect(mannWhitneyZ([1, 2, 4], [2, 3, 5])).toBeCloseTo((2.5 - 4.5) / Math.sqrt(0.75 * (7 - 6 / 30)), 10);
});

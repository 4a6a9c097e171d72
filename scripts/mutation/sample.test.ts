import { expect, test } from "vitest";
import { seededRandom } from "../../test/lab/seeded-random.ts";
import { sample } from "./sample.ts";

const files = [
  { path: "long.ts", lines: 1200 },
  { path: "short.ts", lines: 5 },
];

test("a sample of 100 % is the files", () => {
  expect(sample(files, 100, seededRandom(1))).toEqual(["long.ts", "short.ts"]);
});

test("a sample has the share of the lines, in ranges of 12 lines within the files", () => {
  const ranges = sample(files, 50, seededRandom(1));
  expect(ranges).toHaveLength(51);
  for (const range of ranges) {
    const [, path, from, to] = /^(.*):(\d+)-(\d+)$/u.exec(range) ?? [];
    expect(Number(from) % 12).toBe(1);
    expect(Number(to)).toBe(path === "short.ts" ? 5 : Number(from) + 11);
  }
});

test("a sample of a small share has a range", () => {
  expect(sample(files, 0.1, seededRandom(1))).toHaveLength(1);
});

test("the seed determines the ranges", () => {
  const ranges = sample(files, 10, seededRandom(1));
  expect(sample(files, 10, seededRandom(1))).toEqual(ranges);
  expect(sample(files, 10, seededRandom(2))).not.toEqual(ranges);
});

import { expect, test } from "vitest";
import { seededRandom } from "../../test/lab/seeded-random.ts";
import { sample, percentOf, scoreOf } from "./mutants.ts";

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

const mutants = (fileName: string, ...statuses: string[]) =>
  statuses.map((status) => ({ fileName, status }));

test("a mutant without a test counts as unnoticed, a timeout as noticed, an ignored one not", () => {
  const results = [
    ...mutants("/src/sync/decide.ts", "Killed", "Timeout", "Survived"),
    ...mutants("/src/sync/find/rule.ts", "NoCoverage", "Ignored", "RuntimeError"),
    ...mutants("/src/sync-other.ts", "Survived"),
  ];
  expect(scoreOf(results, "/src/sync")).toEqual({ noticed: 2, mutants: 4 });
  expect(scoreOf(results, "/src/sync/decide.ts")).toEqual({ noticed: 2, mutants: 3 });
});

test("the score is the share of noticed mutants, 100 without a mutant", () => {
  expect(percentOf({ noticed: 3, mutants: 4 })).toBe(75);
  expect(percentOf({ noticed: 0, mutants: 0 })).toBe(100);
});

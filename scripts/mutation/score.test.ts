import { expect, test } from "vitest";
import { percentOf, scoreOf } from "./score.ts";

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

import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import {
  cycles,
  importsBetween,
  moduleOf,
  readSource,
  sourceFiles,
  type Import,
} from "../lab/import-graph.ts";

const src = sourceFiles("src").filter((path) => !path.endsWith(".test.ts"));
const folders = new Set(src.map((path) => dirname(path)));

describe("folders", () => {
  test("modules of src have no import cycle, type imports included", () => {
    const between = importsBetween(src)
      .map(({ from, to }) => ({ from: moduleOf(from, folders), to: moduleOf(to, folders) }))
      .filter(({ from, to }) => from !== to);
    expect(cycles(between)).toEqual([]);
  });

  test("files of src have no import cycle, type imports included", () => {
    expect(cycles(importsBetween(src))).toEqual([]);
  });

  test("a cycle through a third module is reported", () => {
    const imports = [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "a" },
      { from: "c", to: "d" },
    ];
    expect(cycles(imports)).toEqual([["a", "b", "c"]]);
  });

  test("no source or test file is longer than 400 lines", () => {
    const files = ["src", "test", "scripts"].flatMap(sourceFiles);
    const long = files.filter((path) => (readSource(path) ?? "").split("\n").length > 401);
    expect(long).toEqual([]);
  });

  test("the root of src/vault/server has at most a dozen files", () => {
    expect(src.filter((path) => dirname(path) === "src/vault/server").length).toBeLessThanOrEqual(
      12,
    );
  });
});

const inLab = (path: string): boolean => path.startsWith("test/lab/");

/** Reports whether the README of `test/lab` forbids an import. */
function isForbidden({ from, to }: Import): boolean {
  if (inLab(from)) return !inLab(to) && !to.startsWith("src/");
  return from.startsWith("scripts/") && to.startsWith("test/") && !inLab(to);
}

describe("test/lab", () => {
  test("is all that scripts import from test, and imports from src only", () => {
    const files = ["src", "test", "scripts"].flatMap(sourceFiles);
    const imports = importsBetween(files);
    expect(imports.filter(({ to }) => inLab(to)).length).toBeGreaterThan(500);
    expect(imports.filter(isForbidden)).toEqual([]);
  });

  test.each<[string, string]>([
    ["scripts/bench/operator.ts", "test/faults/support/lanes.ts"],
    ["scripts/demo/main.ts", "test/e2e/support/install.ts"],
    ["test/lab/real/world.ts", "scripts/demo/story.ts"],
    ["test/lab/real/world.ts", "test/e2e/support/install.ts"],
  ])("an import from %s to %s is reported", (from, to) => {
    expect(isForbidden({ from, to })).toBe(true);
  });
});

import { describe, expect, test } from "vitest";
import { type Import, importsBetween, sourceFiles } from "../lab/import-graph.ts";

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

import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { cycles, importsBetween, moduleOf, readSource, sourceFiles } from "../lab/import-graph.ts";

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

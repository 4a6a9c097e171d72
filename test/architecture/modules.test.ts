import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modules } from "../../oxlint.config.ts";

const src = join(import.meta.dirname, "../../src");

/** The rows of the table in src/README.md. */
const rows = readFileSync(join(src, "README.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => {
    const [, module = "", , mayImport = "", begin = ""] = line
      .split("|")
      .map((cell) => cell.trim());
    return {
      module: module.replaceAll("`", ""),
      mayImport: [...mayImport.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
      begin: /\]\((.+)\)/.exec(begin)?.[1] ?? "",
    };
  });

describe("src/README.md", () => {
  test("lists the modules whose imports the linter checks, with these imports", () => {
    expect(Object.fromEntries(rows.map(({ module, mayImport }) => [module, mayImport]))).toEqual(
      modules,
    );
  });

  test.each(rows)("says where to begin in $module", ({ module, begin }) => {
    expect(begin.startsWith(`${module}/`)).toBe(true);
    expect(existsSync(join(src, begin))).toBe(true);
  });
});

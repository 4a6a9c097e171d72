import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modules } from "../../oxlint.config.ts";
import { moduleTable } from "./module-table.ts";

const src = join(import.meta.dirname, "../../src");

const rows = moduleTable(join(src, "README.md"));

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

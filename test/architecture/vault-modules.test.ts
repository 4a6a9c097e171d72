import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inner } from "../../oxlint.config.ts";
import { moduleTable } from "./module-table.ts";

const vault = join(import.meta.dirname, "../../src/vault");

const rows = moduleTable(join(vault, "README.md"));

describe.each(["server", "web"])("src/vault/README.md on %s", (program) => {
  const listed = rows.filter(({ module }) => module.startsWith(`${program}/`));

  test("lists the modules whose imports the linter checks, with these imports", () => {
    const rules = Object.entries(inner[`vault/${program}`] ?? {});
    expect(new Map(listed.map(({ module, mayImport }) => [module, mayImport]))).toEqual(
      new Map(rules.map(([name, names]) => [`${program}/${name}`, names])),
    );
  });

  test("lists every folder with code", () => {
    const folders = readdirSync(join(vault, program), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== "styles")
      .map(({ name }) => `${program}/${name}`);
    expect(listed.map(({ module }) => module).toSorted()).toEqual(folders.toSorted());
  });

  test.each(listed)("says where to begin in $module", ({ module, begin }) => {
    expect(begin.startsWith(`${module}/`)).toBe(true);
    expect(existsSync(join(vault, begin))).toBe(true);
  });
});

import { readFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { modules, inner } from "../../oxlint.config.ts";

/** A row of a table of modules: what it may import, and the file to begin at. */
interface ModuleRow {
  readonly module: string;
  readonly mayImport: readonly (string | undefined)[];
  readonly begin: string;
}

/** Returns the rows of the tables in a page that describes modules. */
export function moduleTable(page: string): ModuleRow[] {
  return readFileSync(page, "utf8")
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
}

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

const vault = join(import.meta.dirname, "../../src/vault");

const parts = moduleTable(join(vault, "README.md"));

describe.each(["server", "web"])("src/vault/README.md on %s", (program) => {
  const listed = parts.filter(({ module }) => module.startsWith(`${program}/`));

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

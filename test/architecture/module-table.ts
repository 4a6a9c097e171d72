import { readFileSync } from "node:fs";

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

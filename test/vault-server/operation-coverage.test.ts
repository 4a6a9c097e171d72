import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { sessionOperationPath, operationPath } from "../../src/protocol/operation-paths.ts";
import { errorStatus } from "../../src/protocol/error-codes.ts";

const page = new URL("../../docs/vault-api.md", import.meta.url);
const text = await readFile(page, "utf8");

/** Cells of every table row, without the rows that only draw lines. */
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.slice(2, -2).split(" | "));
const operationRows = rows.filter((cells) => cells.length === 6 && cells[0] !== "Operation");

/** Names in backquotes. */
function quoted(cell: string | undefined): string[] {
  return [...(cell ?? "").matchAll(/`([^`]+)`/gu)].map(([, name]) => name!);
}

/** The tests that a cell names: a link to a file, then titles, each file until the next. */
function testsOf(cell: string | undefined): { file: string; title: string }[] {
  let file = "";
  return [...(cell ?? "").matchAll(/\]\(([^)]+)\)|"([^"]+)"/gu)].flatMap(([, link, title]) => {
    if (link !== undefined) file = link;
    return title === undefined ? [] : [{ file, title }];
  });
}

function sorted(pairs: string[][]): string[] {
  return pairs.map((pair) => pair.join(" ")).sort((a, b) => a.localeCompare(b));
}

test("every operation has one row, with its path", () => {
  const named = operationRows.map((cells) => [quoted(cells[0]).join(), quoted(cells[1]).join()]);
  expect(sorted(named)).toEqual(sorted(Object.entries({ ...operationPath, ...sessionOperationPath })));
});

test("every row names tests, and each is there", async () => {
  const testRows = rows.filter((cells) => (cells.length === 6 || cells.length === 3) && cells.at(-1) !== "Tests");
  expect(testRows.length).toBeGreaterThan(Object.keys(operationPath).length);
  const missing = [];
  for (const cells of testRows) {
    const tests = testsOf(cells.at(-1));
    if (tests.length === 0) missing.push(`${cells[0]} names no test`);
    for (const { file, title } of tests) {
      const source = await readFile(new URL(file, page), "utf8");
      if (!source.includes(`"${title}"`)) missing.push(`${cells[0]}: ${file} has no test "${title}"`);
    }
  }
  expect(missing).toEqual([]);
});

test("the errors that rows name are those of the protocol, and none of them is left out", () => {
  const named = new Set([
    ...operationRows.flatMap((cells) => quoted(cells[4])),
    ...rows.filter((cells) => cells.length === 3 && cells[0] !== "Error").flatMap((cells) => quoted(cells[0])),
  ]);
  expect([...named].sort((a, b) => a.localeCompare(b))).toEqual(Object.keys(errorStatus).sort((a, b) => a.localeCompare(b)));
});

import { styleText } from "node:util";
import { stringify } from "yaml";
import { printable } from "../lib/printable.ts";

type Color = "green" | "red" | "yellow";

/** One cell of a table: its text, and its color on a terminal. */
export type Cell = string | { readonly text: string; readonly color: Color };

const textOf = (cell: Cell): string => printable(typeof cell === "string" ? cell : cell.text);

/** Returns the width of each column: the length of its longest text. */
function widths(rows: readonly (readonly Cell[])[]): number[] {
  const result: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries())
      result[column] = Math.max(result[column] ?? 0, textOf(cell).length);
  }
  return result;
}

/**
 * Formats rows with aligned columns, two spaces apart, as kubectl does. Colors appear on a terminal
 * only, unless `NO_COLOR` is set. The last column is not padded.
 */
export function formatTable(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const width = widths([header, ...rows]);
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, column) => {
          const text = textOf(cell);
          const shown =
            typeof cell === "string"
              ? text
              : styleText(cell.color, text, { stream: process.stdout });
          return (
            shown + " ".repeat(column === row.length - 1 ? 0 : (width[column] ?? 0) - text.length)
          );
        })
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

const UNITS = [
  { name: "d", ms: 24 * 3_600_000 },
  { name: "h", ms: 3_600_000 },
  { name: "m", ms: 60_000 },
  { name: "s", ms: 1_000 },
] as const;

/**
 * Formats a time in milliseconds in its largest unit, as kubectl formats ages: `42s`, `7m`, `5h`,
 * `12d`.
 */
export function formatAge(ms: number): string {
  const unit = UNITS.find((one) => ms >= one.ms * (one.name === "s" ? 0 : 2)) ?? UNITS[3];
  return `${Math.max(0, Math.floor(ms / unit.ms))}${unit.name}`;
}

/** Formats an object as JSON or YAML. */
export const formatObject = (object: object, output: "json" | "yaml"): string =>
  output === "json" ? `${JSON.stringify(object, undefined, 2)}\n` : stringify(object);

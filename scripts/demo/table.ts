import { bold } from "./style.ts";

/** Aligned columns, two spaces apart; numbers (cells of digits only) to the right. No cell is ever cut. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? "";
        return /^[0-9]+$/.test(cell) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [bold(line(head)), ...rows.map(line)].map((text) => `  ${text}`).join("\n");
}

import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { spreadOf } from "./statistics.ts";

/** Keeps six significant digits, and integers. */
const rounded = (value: number): number =>
  Number.isInteger(value) ? value : Number(value.toPrecision(6));

const isNumbers = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");

/** Returns a result with rounded numbers, and the spread of each list of numbers in its place. */
function condensed(result: unknown): unknown {
  if (typeof result === "number") return rounded(result);
  if (isNumbers(result)) return condensed(spreadOf(result));
  if (Array.isArray(result)) return result.map(condensed);
  if (result === null || typeof result !== "object") return result;
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, condensed(value)]),
  );
}

/** Returns the text of a result file: JSON with a line for each item of a result that is a list. */
export function resultText(settings: object, machine: object, result: unknown): string {
  const items = condensed(result);
  const lines = Array.isArray(items) ? items.map((item) => JSON.stringify(item)) : [];
  const body = Array.isArray(items) ? `[\n${lines.join(",\n")}\n]` : JSON.stringify(items);
  const head = `{"settings":${JSON.stringify(settings)},\n"machine":${JSON.stringify(machine)},\n`;
  return `${head}"result":${body}}\n`;
}

/** Writes the settings, the machine and the medians of a run to `results/<name>.json`. */
export async function saveResult(name: string, settings: object, result: unknown): Promise<void> {
  const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model };
  const directory = join(import.meta.dirname, "results");
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${name}.json`), resultText(settings, machine, result));
}

import { styleText } from "node:util";
import { terminalProgress } from "../../test/lab/control-plane/progress.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { ShownObject } from "./shown-object.ts";
import type { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";

/**
 * The only writer to standard output: a progress line rewritten on a terminal never mixes with the
 * next line.
 */
export const screen = terminalProgress(process.stdout);

/** Colors text on a terminal only; `styleText` honors NO_COLOR. */
const style =
  (format: Parameters<typeof styleText>[0]) =>
  (text: string): string =>
    styleText(format, text, { stream: process.stdout });

export const bold = style("bold");
export const dim = style("dim");
export const good = style("green");
export const bad = style("red");

/** Formats a duration given in ms: `8 ms`, `1.42 s`. */
export const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : seconds(ms));

/** Formats a duration given in ms: `0.42 s`, `1 min 2 s`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/**
 * Returns aligned columns, two spaces apart; cells of digits only are right-aligned. No cell is
 * truncated.
 */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
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

const resources = ["VaultConnection", "VaultSecret", "VaultFile"];

function age(timestamp: string | undefined): string {
  return timestamp === undefined
    ? "-"
    : `${Math.max(0, Math.round((Date.now() - Date.parse(timestamp)) / 1000))} s ago`;
}

function resourceRow({ kind, name, ready, target, syncedAt }: ShownObject): string[] {
  return [kind, name, ready?.status ?? "-", ready?.reason ?? "-", target ?? "-", age(syncedAt)];
}

function keyRows({ kind, name, content }: ShownObject): string[][] {
  return [...content].map(([key, { bytes, digest }]) => [kind, name, key, String(bytes), digest]);
}

/**
 * Returns two tables: the resources with their state, and the keys of their targets, each value as
 * its length and digest.
 */
export function summary(view: ClusterView): string {
  const objects = view.objects();
  const targets = objects.filter(({ kind }) => !resources.includes(kind));
  const states = objects.filter(({ kind }) => resources.includes(kind)).map(resourceRow);
  return [
    table(["KIND", "NAME", "READY", "REASON", "TARGET", "SYNCED"], states),
    table(["KIND", "NAME", "KEY", "BYTES", "DIGEST"], targets.flatMap(keyRows)),
  ].join("\n\n");
}

/** Indents each line by the width of a step. */
export const indented = (text: string): string =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? "" : `  ${line}`))
    .join("\n");

const quoted = (arg: string): string => (arg.includes(" ") ? `"${arg}"` : arg);

/** Prints a command as a user types it. */
export const showCommand = (args: readonly string[]): void =>
  screen.note(dim(`  $ vaultsync ${args.map(quoted).join(" ")}`));

interface Shown {
  /** The expected exit code; 0 by default. */
  readonly code?: number | undefined;
  /** Changes a text before it is printed. */
  readonly shown?: (text: string) => string;
}

/**
 * Prints a command and, when it has exited, its output. Returns the output. @throws Error unless it
 * exits with `code`
 */
export async function showRun(
  args: readonly string[],
  { result }: VaultsyncProcess,
  { code = 0, shown = (text) => text }: Shown = {},
): Promise<string> {
  showCommand(args.map(shown));
  const { code: exited, stdout, stderr } = await result;
  const output = shown(`${stdout}${stderr}`);
  if (output !== "") screen.note(indented(output));
  if (exited !== code) throw new Error(`vaultsync ${args[0]} exited with ${exited}: ${output}`);
  return output;
}

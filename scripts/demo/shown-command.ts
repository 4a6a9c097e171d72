import type { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { dim, screen } from "./output.ts";

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

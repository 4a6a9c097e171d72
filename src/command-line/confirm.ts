import { createInterface } from "node:readline/promises";
import type { Command } from "commander";

/**
 * Asks on the terminal whether to proceed, unless `--yes` was given. Without a terminal the command
 * fails instead of waiting or proceeding.
 */
export async function confirm(
  question: string,
  { yes }: { readonly yes?: boolean },
  command: Command,
): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY)
    return command.error("error: standard input is not a terminal: confirm with --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/iu.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

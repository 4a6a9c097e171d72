import { printable } from "../../../lib/printable.ts";
import type { Problem } from "../manifests/manifest.ts";

/** Prints problems as FILE:LINE: message to standard error. */
export function printProblems(problems: readonly Problem[]): void {
  for (const { file, line, message } of problems)
    process.stderr.write(`${printable(`${file}:${line}: ${message}`)}\n`);
}

/** Prints notes to standard error. */
export function printNotes(notes: Iterable<string>): void {
  for (const note of notes) process.stderr.write(`${printable(note)}\n`);
}

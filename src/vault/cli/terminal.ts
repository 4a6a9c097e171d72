import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import { Redacted } from "../../lib/redacted.ts";

async function readLine(prompt: string): Promise<string> {
  const terminal = process.stdin.isTTY;
  if (terminal) process.stderr.write(prompt);
  // Readline echoes the typed characters into this stream, not to the terminal.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal });
  try {
    for await (const line of lines) return line;
    return "";
  } finally {
    lines.close();
    if (terminal) process.stderr.write("\n");
  }
}

/**
 * Reads a password from the first line of a file, or of standard input; a terminal is prompted,
 * without echo.
 */
export async function readPassword(
  file: string | undefined,
  prompt = "Password: ",
): Promise<Redacted<string>> {
  if (file === undefined) return new Redacted(await readLine(prompt));
  const text = await readFile(file, "utf8");
  return new Redacted(text.split(/\r?\n/u, 1).join(""));
}

const INTERVAL_MS = 1000;

/**
 * Returns a function that prints progress on standard error, at most once a second; work shorter
 * than a second prints nothing.
 */
export function progressLine(clock: Clock): (text: string) => void {
  let next = clock.monotonic() + INTERVAL_MS;
  return (text) => {
    const now = clock.monotonic();
    if (now < next) return;
    next = now + INTERVAL_MS;
    process.stderr.write(`${text}\n`);
  };
}

/** Ends of questions about a deletion: of a version, and of a whole secret or file. */
export const FINAL = "It cannot be undone.";
export const UNDO = "Only a vault with a trash can undo it.";

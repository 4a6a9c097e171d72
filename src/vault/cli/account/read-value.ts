import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Redacted } from "../../../lib/redacted.ts";
import { readPassword } from "../read-password.ts";

/**
 * Reads a value exactly, from a file or standard input; a terminal is prompted for one line,
 * without echo. @throws Error
 */
export async function readValue(file: string | undefined): Promise<Redacted<string>> {
  if (file === undefined && process.stdin.isTTY) return readPassword(undefined, "Value: ");
  const bytes = file === undefined ? await buffer(process.stdin) : await readFile(file);
  try {
    return new Redacted(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new Error(
      "the value is not UTF-8: store it as a file with vaultsync file put, or encode it, for example with base64",
    );
  }
}

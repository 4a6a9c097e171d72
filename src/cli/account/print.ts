import { once } from "node:events";
import { stringify } from "yaml";
import { formatTable } from "../output/table.ts";
import type { OutputFlags } from "./account-option.ts";

/** The columns of a table, and the row of a record. */
export interface Rows<T> {
  readonly header: readonly string[];
  readonly row: (record: T) => readonly string[];
}

/** Prints records in the requested format: a table, or an object with all fields of the records under `name`. */
export function printList<T>(name: string, records: readonly T[], { header, row }: Rows<T>, { output }: OutputFlags): void {
  if (output === "json") process.stdout.write(`${JSON.stringify({ [name]: records }, undefined, 2)}\n`);
  else if (output === "yaml") process.stdout.write(stringify({ [name]: records }));
  else if (records.length === 0) process.stderr.write(`no ${name}\n`);
  else process.stdout.write(formatTable(header, records.map(row)));
}

/** Prints exactly these bytes, with a newline for the prompt that follows on a terminal. */
export async function printValue(bytes: Uint8Array): Promise<void> {
  if (bytes.length > 0 && !process.stdout.write(bytes)) await once(process.stdout, "drain");
  if (process.stdout.isTTY && bytes.at(-1) !== 10) process.stdout.write("\n");
}

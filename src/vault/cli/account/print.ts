import { once } from "node:events";
import { formatObject } from "../../../command-line/format-object.ts";
import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable } from "../../../command-line/table.ts";

export type ListFlags = AccountFlags & FormatFlags;

/** The columns of a table, and the row of a record. */
export interface Rows<T> {
  readonly header: readonly string[];
  readonly row: (record: T) => readonly string[];
}

/**
 * Prints records in the requested format: a table, or an object with all fields of the records
 * under `name`.
 */
export function printList<T>(
  name: string,
  records: readonly T[],
  { header, row }: Rows<T>,
  { output }: ListFlags,
): void {
  if (output !== "table") process.stdout.write(formatObject({ [name]: records }, output));
  else if (records.length === 0) process.stderr.write(`no ${name}\n`);
  else process.stdout.write(formatTable(header, records.map(row)));
}

/** Prints exactly these bytes, with a newline for the prompt that follows on a terminal. */
export async function printValue(bytes: Uint8Array): Promise<void> {
  if (bytes.length > 0 && !process.stdout.write(bytes)) await once(process.stdout, "drain");
  if (process.stdout.isTTY && bytes.at(-1) !== 10) process.stdout.write("\n");
}

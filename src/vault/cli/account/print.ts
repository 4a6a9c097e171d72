import { once } from "node:events";
import type { AccountFlags, FormatFlags } from "../../../command-line/options.ts";
import { formatTable, formatAge, formatObject } from "../../../command-line/format.ts";
import { systemClock } from "../../../lib/clock.ts";
import type {
  FileRecord,
  FileVersionRecord,
  SecretRecord,
  Timestamp,
} from "../../../protocol/responses.ts";

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

const ms = (time: Timestamp): number => (typeof time === "number" ? time : Date.parse(time));
const age = (time: Timestamp): string => formatAge(systemClock.now() - ms(time));
const until = (time: Timestamp): string => {
  const left = ms(time) - systemClock.now();
  return left < 0 ? `${formatAge(-left)} ago` : formatAge(left);
};

export const secretRows: Rows<SecretRecord> = {
  header: ["NAME", "VERSION", "OWNER", "PERMISSION", "SHARED", "AGE", "EXPIRES"],
  row: ({ key_name, key_version, owner, permission, shared, created_at, expires_at }) => [
    key_name,
    String(key_version),
    owner,
    permission,
    shared ? "yes" : "no",
    age(created_at),
    until(expires_at),
  ],
};

export const versionRows: Rows<SecretRecord> = {
  header: ["VERSION", "AGE", "EXPIRES"],
  row: ({ key_version, created_at, expires_at }) => [
    String(key_version),
    age(created_at),
    until(expires_at),
  ],
};

export const fileRows: Rows<FileRecord> = {
  header: ["FILENAME", "VERSION", "BYTES", "AGE"],
  row: ({ filename, version, size, created_at }) => [
    filename,
    String(version),
    String(size),
    age(created_at),
  ],
};

export const fileVersionRows: Rows<FileVersionRecord> = {
  header: ["VERSION", "BYTES", "AGE", "SHA256"],
  row: ({ version, size, created_at, sha256 }) => [
    String(version),
    String(size),
    age(created_at),
    sha256,
  ],
};

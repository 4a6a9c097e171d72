import { z } from "zod";
import type { Cell } from "../store/tables/raw-tables.ts";

/**
 * A backup file is three zstd frames, so that `zstd -d` reads it too: a skippable one that says what it is; the content, JSON, one line a
 * value; a skippable one with the SHA-256 of everything before it. The content is a head, then for each table its name and columns and
 * its rows, and an end that counts them. What is sealed in the store stays sealed.
 */
export const FORMAT_VERSION = 1;

const SKIPPABLE_FRAME = 0x184d2a50;
const DIGEST_BYTES = 32;

function skippableFrame(content: Uint8Array): Buffer {
  const frame = Buffer.alloc(8 + content.length);
  frame.writeUInt32LE(SKIPPABLE_FRAME, 0);
  frame.writeUInt32LE(content.length, 4);
  frame.set(content, 8);
  return frame;
}

/** How every backup begins. */
export const opening: Uint8Array = skippableFrame(Buffer.from("vaultsync backup\n"));

export const CLOSING_BYTES = 8 + DIGEST_BYTES;

/** How one ends whose bytes up to here have this SHA-256. */
export function closing(digest: Uint8Array): Uint8Array {
  return skippableFrame(digest);
}

/** The first line. `schema` counts the steps of the schema (migrations.ts), `key` is the id of the master key. */
export const backupHead = z.object({
  vaultsync_backup: z.number(),
  schema: z.number(),
  made_at: z.string(),
  key: z.string(),
});
export type BackupHead = z.infer<typeof backupHead>;

export const tableStart = z.strictObject({ table: z.string(), columns: z.array(z.string()) });

/** The last line: rows by table, and the ids of all master keys that records are under. */
export const backupEnd = z.strictObject({ rows: z.record(z.string(), z.number()), keys: z.array(z.string()) });
export type BackupEnd = z.infer<typeof backupEnd>;

const cells = z.array(z.union([z.string(), z.number(), z.strictObject({ bytes: z.base64() })]));

/** A row is an array; bytes in it are in base64. */
export function rowLine(row: readonly Cell[]): string {
  return JSON.stringify(row.map((cell) => (cell instanceof Uint8Array ? { bytes: Buffer.from(cell).toString("base64") } : cell)));
}

/** @throws ZodError when it is no row */
export function rowOf(value: unknown): Cell[] {
  return cells.parse(value).map((cell) => (typeof cell === "object" ? Buffer.from(cell.bytes, "base64") : cell));
}

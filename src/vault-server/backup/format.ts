import { z } from "zod";
import type { Cell } from "../store/tables/raw-tables.ts";

/**
 * A backup file is three zstd frames, so that `zstd -d` can read it: a skippable frame that identifies the format; the content as
 * JSON lines; a skippable frame with the SHA-256 of all bytes before it. The content is a head record, then for each table its
 * name, columns and rows, and an end record with row counts. Sealed bytes of the store stay sealed.
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

/** First bytes of every backup. */
export const opening: Uint8Array = skippableFrame(Buffer.from("vaultsync backup\n"));

export const CLOSING_BYTES = 8 + DIGEST_BYTES;

/** Returns the last bytes of a backup whose preceding bytes have this SHA-256. */
export function closing(digest: Uint8Array): Uint8Array {
  return skippableFrame(digest);
}

/** The first line. `schema` is the number of migration steps (sqlite-migrations.ts), `key` the id of the master key. */
export const backupHead = z.object({
  vaultsync_backup: z.number(),
  schema: z.number(),
  made_at: z.string(),
  key: z.string(),
});
export type BackupHead = z.infer<typeof backupHead>;

export const tableStart = z.strictObject({ table: z.string(), columns: z.array(z.string()) });

/** The last line: row counts by table, and the ids of all master keys that wrap records. */
export const backupEnd = z.strictObject({ rows: z.record(z.string(), z.number()), keys: z.array(z.string()) });
export type BackupEnd = z.infer<typeof backupEnd>;

const cells = z.array(z.union([z.string(), z.number(), z.strictObject({ bytes: z.base64() })]));

/** Returns a row as a JSON array; bytes are in base64. */
export function rowLine(row: readonly Cell[]): string {
  return JSON.stringify(row.map((cell) => (cell instanceof Uint8Array ? { bytes: Buffer.from(cell).toString("base64") } : cell)));
}

/** @throws ZodError when it is not a row */
export function rowOf(value: unknown): Cell[] {
  return cells.parse(value).map((cell) => (typeof cell === "object" ? Buffer.from(cell.bytes, "base64") : cell));
}

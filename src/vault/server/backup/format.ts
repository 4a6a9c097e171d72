import { z } from "zod";
import type { Cell } from "../store/tables/raw-tables.ts";

/**
 * A backup file is three zstd frames, readable by `zstd -d`: a skippable frame that identifies the
 * format; the content as JSON lines; a skippable frame with the SHA-256 of all bytes before it, and
 * their HMAC under a key derived from the current master key. The content is a head record, then
 * for each table its name, columns and rows, and an end record with row counts. Sealed bytes of the
 * store stay sealed.
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

const OPENING = Buffer.from("vaultsync backup\n");
const KEY_ID_LENGTH = 16;

/**
 * Bytes of the first frame, with an id of a master key or, in a backup without a MAC, without one.
 */
export const OPENING_BYTES = {
  plain: 8 + OPENING.length,
  authenticated: 8 + OPENING.length + KEY_ID_LENGTH,
} as const;

/** Returns the first bytes of a backup that is authenticated by this master key, or by none. */
export function opening(keyId = ""): Uint8Array {
  return skippableFrame(Buffer.concat([OPENING, Buffer.from(keyId)]));
}

/**
 * Returns the id of the master key that authenticates a backup, empty without one; `undefined` for
 * other bytes.
 */
export function authenticatingKey(first: Uint8Array): string | undefined {
  const plain = Buffer.from(first.subarray(0, OPENING_BYTES.plain));
  if (plain.equals(opening())) return "";
  const keyId = Buffer.from(first.subarray(OPENING_BYTES.plain)).toString("latin1");
  return /^[0-9a-f]{16}$/u.test(keyId) && Buffer.from(first).equals(opening(keyId))
    ? keyId
    : undefined;
}

/** Bytes of the last frame, with and without a MAC. */
export const CLOSING_BYTES = {
  plain: 8 + DIGEST_BYTES,
  authenticated: 8 + 2 * DIGEST_BYTES,
} as const;

/**
 * Returns the last bytes of a backup whose preceding bytes have this SHA-256 and this MAC, empty
 * without one.
 */
export function closing(digest: Uint8Array, mac: Uint8Array = new Uint8Array()): Uint8Array {
  return skippableFrame(Buffer.concat([digest, mac]));
}

/** Returns the SHA-256 within the last bytes. */
export function digestOf(last: Uint8Array): Buffer {
  return Buffer.from(last.subarray(8, CLOSING_BYTES.plain));
}

/** Purpose of the derived key. */
export const BACKUP_MAC = "backup mac v1";

/**
 * The first line. `schema` is the number of migration steps (sqlite-migrations.ts), `key` the id of
 * the master key.
 */
export const backupHead = z.object({
  vaultsync_backup: z.number(),
  schema: z.number(),
  made_at: z.string(),
  key: z.string(),
});
export type BackupHead = z.infer<typeof backupHead>;

export const tableStart = z.strictObject({ table: z.string(), columns: z.array(z.string()) });

/** The last line: row counts by table, and the ids of all master keys that wrap records. */
export const backupEnd = z.strictObject({
  rows: z.record(z.string(), z.number()),
  keys: z.array(z.string()),
});
export type BackupEnd = z.infer<typeof backupEnd>;

const cells = z.array(z.union([z.string(), z.number(), z.strictObject({ bytes: z.base64() })]));

/** Returns a row as a JSON array; bytes are in base64. */
export function rowLine(row: readonly Cell[]): string {
  return JSON.stringify(
    row.map((cell) =>
      cell instanceof Uint8Array ? { bytes: Buffer.from(cell).toString("base64") } : cell,
    ),
  );
}

/** @throws ZodError when it is not a row */
export function rowOf(value: unknown): Cell[] {
  return cells
    .parse(value)
    .map((cell) => (typeof cell === "object" ? Buffer.from(cell.bytes, "base64") : cell));
}

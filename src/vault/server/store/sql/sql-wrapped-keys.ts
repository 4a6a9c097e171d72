import { originalName } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { WrappedRecord } from "../records.ts";
import type { WrappedKeyTable } from "../tables/rotation-tables.ts";

const COLUMNS = "v.version, v.key_id, v.wrapped_key";

/** One query per kind, in the order of id and version. */
const LIST = {
  secret: `SELECT s.id, s.owner, s.name, ${COLUMNS} FROM secret_versions AS v JOIN secrets AS s ON s.id = v.secret_id
    WHERE v.key_id <> ? AND (v.secret_id, v.version) > (?, ?) ORDER BY v.secret_id, v.version LIMIT ?`,
  file: `SELECT f.id, f.owner, f.name, v.blob_id, v.size, ${COLUMNS} FROM file_versions AS v JOIN files AS f ON f.id = v.file_id
    WHERE v.key_id <> ? AND (v.file_id, v.version) > (?, ?) ORDER BY v.file_id, v.version LIMIT ?`,
} as const;

const REPLACE = {
  secret:
    "UPDATE secret_versions SET key_id = ?, wrapped_key = ? WHERE secret_id = ? AND version = ? AND wrapped_key = ?",
  file: "UPDATE file_versions SET key_id = ?, wrapped_key = ? WHERE file_id = ? AND version = ? AND wrapped_key = ?",
} as const;

/** The next id after another one: one step in the index, however many records have the same. */
const NEXT_ID = {
  secret: "SELECT key_id FROM secret_versions WHERE key_id > ? ORDER BY key_id LIMIT 1",
  file: "SELECT key_id FROM file_versions WHERE key_id > ? ORDER BY key_id LIMIT 1",
} as const;

/** Counts records whose master key satisfies a condition on ?1. */
function countSql(operator: "=" | "<>"): string {
  return `SELECT (SELECT count(*) FROM secret_versions WHERE key_id ${operator} ?1) +
    (SELECT count(*) FROM file_versions WHERE key_id ${operator} ?1) AS count`;
}

const COUNT_OF = countSql("=");
const COUNT_OTHER = countSql("<>");

function recordOf(kind: WrappedRecord["kind"], row: Row): WrappedRecord {
  const record = {
    id: row.text("id"),
    owner: row.text("owner"),
    name: row.text("name"),
    version: row.number("version"),
    key: { keyId: row.text("key_id"), wrappedKey: row.bytes("wrapped_key") },
  };
  switch (kind) {
    case "secret":
      return { kind, ...record, name: originalName(record.name) };
    case "file":
      return {
        kind,
        ...record,
        name: originalName(record.name),
        blobId: row.text("blob_id"),
        size: row.number("size"),
      };
  }
}

export function sqlWrappedKeys(db: SqlConnection): WrappedKeyTable {
  const count = async (sql: string, masterKeyId: string): Promise<number> =>
    (await db.get(sql, masterKeyId))?.number("count") ?? 0;
  return {
    async otherThan(kind, masterKeyId, after, atMost) {
      const rows = await db.all(
        LIST[kind],
        masterKeyId,
        after?.id ?? "",
        after?.version ?? 0,
        atMost,
      );
      return rows.map((row) => recordOf(kind, row));
    },
    async replace({ kind, id, version, key }, { keyId, wrappedKey }) {
      return (await db.wipe(REPLACE[kind], keyId, wrappedKey, id, version, key.wrappedKey)) > 0;
    },
    countOtherThan: (masterKeyId) => count(COUNT_OTHER, masterKeyId),
    countOf: (masterKeyId) => count(COUNT_OF, masterKeyId),
    async masterKeyIds() {
      const ids = new Set<string>();
      for (const sql of [NEXT_ID.secret, NEXT_ID.file]) {
        for (let row = await db.get(sql, ""); row; row = await db.get(sql, row.text("key_id")))
          ids.add(row.text("key_id"));
      }
      return [...ids];
    },
  };
}

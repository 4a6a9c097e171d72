import type { HandOverTable } from "../tables/hand-over-table.ts";
import type { SqlConnection } from "./sql-connection.ts";

const COLLISIONS = {
  secret: `SELECT s.name FROM secrets AS s JOIN secrets AS o ON o.owner = ?2 AND o.name = s.name AND o.delete_at > ?3
    WHERE s.owner = ?1 AND s.delete_at > ?3 ORDER BY s.name`,
  file: `SELECT s.name FROM files AS s JOIN files AS o ON o.owner = ?2 AND o.name = s.name WHERE s.owner = ?1 ORDER BY s.name`,
} as const;

export function sqlHandOver(db: SqlConnection): HandOverTable {
  return {
    async secrets(owner, now, after, atMost) {
      const sql =
        "SELECT * FROM secrets WHERE owner = ? AND delete_at > ? AND id > ? ORDER BY id LIMIT ?";
      return (await db.all(sql, owner, now, after, atMost)).map((row) => ({
        id: row.text("id"),
        owner: row.text("owner"),
        name: row.text("name"),
        nextVersion: row.number("next_version"),
        deleteMinutes: row.number("delete_minutes"),
        deleteAt: row.number("delete_at"),
      }));
    },
    async files(owner, after, atMost) {
      const rows = await db.all(
        "SELECT * FROM files AS f WHERE owner = ? AND id > ? AND NOT EXISTS (SELECT 1 FROM trashed_files WHERE id = f.id) ORDER BY id LIMIT ?",
        owner,
        after,
        atMost,
      );
      return rows.map((row) => ({
        id: row.text("id"),
        owner: row.text("owner"),
        name: row.text("name"),
        nextVersion: row.number("next_version"),
      }));
    },
    async collisions(kind, from, to, now) {
      const rows = await db.all(COLLISIONS[kind], from, to, ...(kind === "secret" ? [now] : []));
      return rows.map((row) => row.text("name"));
    },
    async hasName(kind, owner, name, now) {
      const row =
        kind === "secret"
          ? await db.get(
              "SELECT id FROM secrets WHERE owner = ? AND name = ? AND delete_at > ?",
              owner,
              name,
              now,
            )
          : await db.get("SELECT id FROM files WHERE owner = ? AND name = ?", owner, name);
      return row !== undefined;
    },
    async moveSecret(secretId, owner, name) {
      await db.run("UPDATE secrets SET owner = ?, name = ? WHERE id = ?", owner, name, secretId);
    },
    async moveFile(fileId, owner, name) {
      await db.run("UPDATE files SET owner = ?, name = ? WHERE id = ?", owner, name, fileId);
    },
    async replaceValue(secretId, version, { keyId, wrappedKey, sealed }) {
      const sql =
        "UPDATE secret_versions SET key_id = ?, wrapped_key = ?, sealed = ? WHERE secret_id = ? AND version = ?";
      await db.wipe(sql, keyId, wrappedKey, sealed, secretId, version);
    },
    async replaceDigest(fileId, version, { keyId, wrappedKey, sealed }) {
      const sql =
        "UPDATE file_versions SET key_id = ?, wrapped_key = ?, sealed = ? WHERE file_id = ? AND version = ?";
      await db.wipe(sql, keyId, wrappedKey, sealed, fileId, version);
    },
  };
}

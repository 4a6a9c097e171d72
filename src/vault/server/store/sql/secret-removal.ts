import type { SecretTable } from "../tables/secret-table.ts";
import { RETIRED_AT, RETIRED_MARK, TRASHED_AT } from "./retired-name.ts";
import type { SqlConnection } from "./sql-connection.ts";

/** The operations that remove secrets. */
export type SecretRemovalTable = Pick<
  SecretTable,
  | "sizeUpTo"
  | "retire"
  | "remove"
  | "removeOf"
  | "removeVersions"
  | "removeGrants"
  | "due"
  | "dueNamed"
>;

/** Counts the rows of a table that belong to the secret ?1, at most ?2. */
function countSql(table: string): string {
  return `(SELECT count(*) FROM (SELECT 1 AS one FROM ${table} WHERE secret_id = ?1 LIMIT ?2) AS ${table}_of)`;
}

const SIZE = `
  SELECT count(*) + ${countSql("person_grants")} + ${countSql("team_grants")} + ${countSql("hidden_team_grants")}
    + ${countSql("secret_consumers")} AS row_count,
    CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes
  FROM (SELECT octet_length(sealed) + octet_length(metadata) AS bytes FROM secret_versions WHERE secret_id = ?1 LIMIT ?2) AS sizes`;

/** Removes ?2 rows of the secret ?1 from a table, in the order of the rest of its key. */
function removeSql(table: string, key: string): string {
  const columns = key.includes(",") ? `(${key})` : key;
  return `DELETE FROM ${table} WHERE secret_id = ?1 AND ${columns} IN (
    SELECT ${key} FROM ${table} WHERE secret_id = ?1 ORDER BY ${key} LIMIT ?2)`;
}

const REMOVE_VERSIONS = removeSql("secret_versions", "version");
/** Dismissals first: removing the grants that they refer to would remove them too. */
const REMOVE_GRANTS = [
  removeSql("person_grants", "email"),
  removeSql("hidden_team_grants", "group_id, email"),
  removeSql("team_grants", "group_id"),
  removeSql("secret_consumers", "consumer, account"),
];

export function secretRemoval(db: SqlConnection): SecretRemovalTable {
  return {
    async sizeUpTo(secretId, atMost) {
      const row = await db.get(SIZE, secretId, atMost);
      return { rows: row?.number("row_count") ?? 0, bytes: row?.number("bytes") ?? 0 };
    },
    async retire(secretId) {
      await db.run("DELETE FROM trashed_secrets WHERE id = ?", secretId);
      const sql = `UPDATE secrets SET name = name || CAST(? AS text) || id, delete_at = ? WHERE id = ?`;
      await db.run(sql, RETIRED_MARK, RETIRED_AT, secretId);
    },
    async remove(secretId) {
      await db.wipe("DELETE FROM secrets WHERE id = ?", secretId);
    },
    async removeOf(owner) {
      await db.wipe("DELETE FROM secrets WHERE owner = ?", owner);
    },
    async removeVersions(secretId, atMost) {
      return db.wipe(REMOVE_VERSIONS, secretId, atMost);
    },
    async removeGrants(secretId, atMost) {
      let removed = 0;
      for (const sql of REMOVE_GRANTS) {
        // A later table only when the earlier ones are empty.
        if (removed < atMost) removed += await db.run(sql, secretId, atMost - removed);
      }
      return removed;
    },
    async due(now, atMost) {
      const sql =
        "SELECT id, delete_at FROM secrets WHERE delete_at > ? AND delete_at <= ? ORDER BY delete_at, id LIMIT ?";
      const rows = await db.all(sql, TRASHED_AT, now, atMost);
      return rows.map((row) => ({
        id: row.text("id"),
        retired: row.number("delete_at") === RETIRED_AT,
      }));
    },
    async dueNamed(owner, name, now) {
      const sql = "SELECT id FROM secrets WHERE owner = ? AND name = ? AND delete_at <= ?";
      return (await db.get(sql, owner, name, now))?.text("id");
    },
  };
}

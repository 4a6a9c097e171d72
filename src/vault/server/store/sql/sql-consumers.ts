import type { EntryKind } from "../records.ts";
import { WRITE_INTERVAL_MS, type ConsumerTable } from "../tables/consumer-table.ts";
import type { SqlConnection } from "./sql-connection.ts";

/** The statements of one kind of entry, whose tables differ in names only. */
function statementsOf(kind: EntryKind) {
  const [entries, table, id] = [`${kind}s`, `${kind}_consumers`, `${kind}_id`];
  return {
    // Without the entry or the account there is nothing to insert.
    record: `
      INSERT INTO ${table} (${id}, consumer, version, read_at, account)
      SELECT e.id, CAST(?2 AS text), CAST(?3 AS integer), ?4, u.email
      FROM ${entries} AS e JOIN users AS u ON u.email = ?5 WHERE e.id = ?1
      ON CONFLICT (${id}, consumer, account) DO UPDATE
      SET version = excluded.version, read_at = excluded.read_at
      WHERE excluded.read_at > ${table}.read_at AND (excluded.version <> ${table}.version
        OR excluded.read_at - ${table}.read_at >= ${WRITE_INTERVAL_MS})`,
    // The n-th of one account before the next one of another account.
    trim: `
      DELETE FROM ${table} WHERE ${id} = ?1 AND (consumer, account) NOT IN (
        SELECT consumer, account FROM (
          SELECT consumer, account, read_at, ROW_NUMBER() OVER (PARTITION BY account ORDER BY read_at DESC, consumer) AS place
          FROM ${table} WHERE ${id} = ?1) AS placed
        ORDER BY place, read_at DESC, consumer, account LIMIT ?2)`,
    list: `SELECT consumer, version, read_at, account FROM ${table} WHERE ${id} = ? ORDER BY read_at DESC, consumer, account`,
    removeBefore: `
      DELETE FROM ${table} WHERE (${id}, consumer, account) IN (
        SELECT ${id}, consumer, account FROM ${table} WHERE read_at < ? ORDER BY read_at LIMIT ?)`,
  };
}

const statements = { secret: statementsOf("secret"), file: statementsOf("file") } as const;

export function sqlConsumers(db: SqlConnection): ConsumerTable {
  return {
    async record(kind, entryId, { consumer, version, readAt, account }, keep) {
      const { record, trim } = statements[kind];
      const written = await db.run(record, entryId, consumer, version, readAt, account);
      if (written > 0) await db.run(trim, entryId, keep);
    },
    async list(kind, entryId) {
      const rows = await db.all(statements[kind].list, entryId);
      return rows.map((row) => ({
        consumer: row.text("consumer"),
        version: row.number("version"),
        readAt: row.number("read_at"),
        account: row.text("account"),
      }));
    },
    async removeBefore(timestamp, atMost) {
      const secrets = await db.run(statements.secret.removeBefore, timestamp, atMost);
      return secrets + (await db.run(statements.file.removeBefore, timestamp, atMost));
    },
  };
}

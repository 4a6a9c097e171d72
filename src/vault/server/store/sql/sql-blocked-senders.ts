import type { SqlConnection } from "./sql-connection.ts";
import type { BlockedSenderTable } from "../tables/account-tables.ts";

export function sqlBlockedSenders(db: SqlConnection): BlockedSenderTable {
  return {
    async block(email, senders) {
      const sql =
        "INSERT INTO blocked_senders (email, sender) VALUES (?, ?) ON CONFLICT DO NOTHING";
      for (const sender of senders) await db.run(sql, email, sender);
    },
    async unblock(email, senders) {
      for (const sender of senders)
        await db.run("DELETE FROM blocked_senders WHERE email = ? AND sender = ?", email, sender);
    },
    async list(email) {
      const rows = await db.all(
        "SELECT sender FROM blocked_senders WHERE email = ? ORDER BY sender",
        email,
      );
      return rows.map((row) => row.text("sender"));
    },
    async has(email, sender) {
      const row = await db.get(
        "SELECT 1 AS one FROM blocked_senders WHERE email = ? AND sender = ?",
        email,
        sender,
      );
      return row !== undefined;
    },
  };
}

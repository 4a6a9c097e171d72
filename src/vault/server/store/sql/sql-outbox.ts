import { z } from "zod";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { EmailMessage } from "../records.ts";
import type { OutboxTable } from "../tables/outbox-table.ts";

const kind = z.enum(["invitation", "confirmation", "password_changed"]);

function messageOf(row: Row): EmailMessage {
  return {
    id: row.text("id"),
    kind: kind.parse(row.text("kind")),
    to: row.text("recipient"),
    from: row.text("sender"),
    attempts: row.number("attempts"),
    dueAt: row.number("due_at"),
  };
}

export function sqlOutbox(db: SqlConnection): OutboxTable {
  return {
    async insert({ id, kind: messageKind, to, from, attempts, dueAt }) {
      const sql =
        "INSERT INTO outbox (id, kind, recipient, sender, attempts, due_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
      return (await db.run(sql, id, messageKind, to, from, attempts, dueAt)) > 0;
    },
    async count() {
      const row = await db.get("SELECT COUNT(*) AS count FROM outbox");
      return row?.number("count") ?? 0;
    },
    async claim(now, until, atMost) {
      const due = await db.all(
        "SELECT * FROM outbox WHERE due_at <= ? ORDER BY due_at, id LIMIT ?",
        now,
        atMost,
      );
      const messages = due.map(messageOf);
      for (const { id } of messages)
        await db.run("UPDATE outbox SET due_at = ? WHERE id = ?", until, id);
      return messages;
    },
    async update({ id, attempts, dueAt }) {
      await db.run("UPDATE outbox SET attempts = ?, due_at = ? WHERE id = ?", attempts, dueAt, id);
    },
    async remove(id) {
      await db.run("DELETE FROM outbox WHERE id = ?", id);
    },
  };
}

import { z } from "zod";
import type { SqlConnection } from "./sql-connection.ts";
import { adminActions } from "../records.ts";
import type { AdminActionTable } from "../tables/account-tables.ts";

const known = z.enum(adminActions);

export function sqlAdminActions(db: SqlConnection): AdminActionTable {
  return {
    async insert({ id, at, action, email }) {
      await db.run(
        "INSERT INTO admin_actions (id, at, action, email) VALUES (?, ?, ?, ?)",
        id,
        at,
        action,
        email,
      );
    },
    async list() {
      const rows = await db.all("SELECT * FROM admin_actions ORDER BY at, id");
      return rows.map((row) => ({
        id: row.text("id"),
        at: row.number("at"),
        action: known.parse(row.text("action")),
        email: row.text("email"),
      }));
    },
    async remove(id) {
      await db.run("DELETE FROM admin_actions WHERE id = ?", id);
    },
  };
}

import type { SqlConnection } from "./sql-connection.ts";
import type { LoginFailureTable, UserTable } from "../tables/account-tables.ts";
import type { SettingTable } from "../tables/setting-table.ts";

export function sqlUsers(db: SqlConnection): UserTable {
  return {
    async find(email) {
      const row = await db.get("SELECT * FROM users WHERE email = ?", email);
      return row && { email: row.text("email"), passwordHash: row.text("password_hash") };
    },
    async list() {
      return (await db.all("SELECT email FROM users ORDER BY email")).map((row) => row.text("email"));
    },
    async insert(user, now) {
      const sql = "INSERT INTO users (email, password_hash, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
      return (await db.run(sql, user.email, user.passwordHash, now)) > 0;
    },
    async setPasswordHash({ email, passwordHash }) {
      await db.run("UPDATE users SET password_hash = ? WHERE email = ?", passwordHash, email);
    },
  };
}

export function sqlLoginFailures(db: SqlConnection): LoginFailureTable {
  return {
    async since(subject, from) {
      const sql = "SELECT count(*) AS count, coalesce(max(at), 0.0) AS last_at FROM login_failures WHERE subject = ? AND at > ?";
      const row = await db.get(sql, subject, from);
      return { count: row?.number("count") ?? 0, lastAt: row?.number("last_at") ?? 0 };
    },
    async add(subject, at) {
      await db.run("INSERT INTO login_failures (subject, at) VALUES (?, ?)", subject, at);
    },
    async clear(subject) {
      await db.run("DELETE FROM login_failures WHERE subject = ?", subject);
    },
    async removeBefore(timestamp) {
      await db.run("DELETE FROM login_failures WHERE at <= ?", timestamp);
    },
  };
}

export function sqlSettings(db: SqlConnection): SettingTable {
  return {
    async get(name) {
      return (await db.get("SELECT value FROM settings WHERE name = ?", name))?.text("value");
    },
    async set(name, value) {
      await db.run(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
      );
    },
  };
}

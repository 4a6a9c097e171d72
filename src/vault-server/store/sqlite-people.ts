import type { SqliteConnection } from "./sqlite-connection.ts";
import type { LoginFailureTable, SettingTable, UserTable } from "./store.ts";

export function sqliteUsers(db: SqliteConnection): UserTable {
  return {
    async find(email) {
      const row = db.get("SELECT * FROM users WHERE email = ?", email);
      return row && { email: row.text("email"), passwordHash: row.text("password_hash") };
    },
    async insert(user, now) {
      const sql = "INSERT INTO users (email, password_hash, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
      return db.run(sql, user.email, user.passwordHash, now) > 0;
    },
    async setPasswordHash({ email, passwordHash }) {
      db.run("UPDATE users SET password_hash = ? WHERE email = ?", passwordHash, email);
    },
  };
}

export function sqliteLoginFailures(db: SqliteConnection): LoginFailureTable {
  return {
    async since(subject, from) {
      const sql = "SELECT count(*) AS count, coalesce(max(at), 0.0) AS last_at FROM login_failures WHERE subject = ? AND at > ?";
      const row = db.get(sql, subject, from);
      return { count: row?.number("count") ?? 0, lastAt: row?.number("last_at") ?? 0 };
    },
    async add(subject, at) {
      db.run("INSERT INTO login_failures (subject, at) VALUES (?, ?)", subject, at);
    },
    async clear(subject) {
      db.run("DELETE FROM login_failures WHERE subject = ?", subject);
    },
    async removeBefore(moment) {
      db.run("DELETE FROM login_failures WHERE at <= ?", moment);
    },
  };
}

export function sqliteSettings(db: SqliteConnection): SettingTable {
  return {
    async get(name) {
      return db.get("SELECT value FROM settings WHERE name = ?", name)?.text("value");
    },
    async set(name, value) {
      db.run(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
      );
    },
  };
}

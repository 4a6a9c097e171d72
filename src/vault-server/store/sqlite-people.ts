import type { SqliteConnection } from "./sqlite-connection.ts";
import type { LoginFailureTable, SettingTable, TokenTable, UserTable } from "./store.ts";

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
  };
}

export function sqliteTokens(db: SqliteConnection): TokenTable {
  return {
    async findAccess(digest) {
      const row = db.get("SELECT * FROM access_tokens WHERE digest = ?", digest);
      return (
        row && {
          digest,
          refreshDigest: row.text("refresh_digest"),
          email: row.text("email"),
          scope: row.text("scope"),
          expiresAt: row.number("expires_at"),
        }
      );
    },
    async insertAccess({ digest, refreshDigest, email, scope, expiresAt }) {
      const sql = "INSERT INTO access_tokens (digest, refresh_digest, email, scope, expires_at) VALUES (?, ?, ?, ?, ?)";
      db.run(sql, digest, refreshDigest, email, scope, expiresAt);
    },
    async findRefresh(digest) {
      const row = db.get("SELECT * FROM refresh_tokens WHERE digest = ?", digest);
      return (
        row && {
          digest,
          email: row.text("email"),
          scope: row.text("scope"),
          hours: row.number("hours"),
          lastUsedAt: row.number("last_used_at"),
        }
      );
    },
    async insertRefresh({ digest, email, scope, hours, lastUsedAt }) {
      const sql = "INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at) VALUES (?, ?, ?, ?, ?)";
      db.run(sql, digest, email, scope, hours, lastUsedAt);
    },
    async touchRefresh(digest, now) {
      db.run("UPDATE refresh_tokens SET last_used_at = ? WHERE digest = ?", now, digest);
    },
    async removeLapsed(lastUsedAt, now) {
      db.run("DELETE FROM refresh_tokens WHERE last_used_at <= ?", lastUsedAt);
      db.run(
        `DELETE FROM access_tokens WHERE expires_at <= ?
           AND NOT EXISTS (SELECT 1 FROM refresh_tokens WHERE digest = access_tokens.refresh_digest)`,
        now,
      );
    },
    async hasLive(email, lastUsedAfter, now) {
      const row = db.get(
        `SELECT EXISTS (SELECT 1 FROM access_tokens WHERE email = ?1 AND expires_at > ?3)
           OR EXISTS (SELECT 1 FROM refresh_tokens WHERE email = ?1 AND last_used_at > ?2) AS live`,
        email,
        lastUsedAfter,
        now,
      );
      return row?.number("live") === 1;
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

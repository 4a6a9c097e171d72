import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { AccessToken, RefreshToken } from "../records.ts";
import { subjects } from "../subjects.ts";
import type { TokenTable } from "../tables/account-tables.ts";

function accessTokenOf(row: Row): AccessToken {
  return {
    digest: row.text("digest"),
    refreshDigest: row.text("refresh_digest"),
    email: row.text("email"),
    scope: row.text("scope"),
    expiresAt: row.number("expires_at"),
  };
}

function refreshTokenOf(row: Row): RefreshToken {
  return {
    digest: row.text("digest"),
    email: row.text("email"),
    scope: row.text("scope"),
    hours: row.number("hours"),
    lastUsedAt: row.number("last_used_at"),
  };
}

/** @param changed called when credentials end before their time */
export function sqlTokens(db: SqlConnection, changed: (subject: string) => void): TokenTable {
  return {
    async findAccess(digest) {
      const row = await db.get("SELECT * FROM access_tokens WHERE digest = ?", digest);
      return row && accessTokenOf(row);
    },
    async insertAccess({ digest, refreshDigest, email, scope, expiresAt }) {
      const sql = "INSERT INTO access_tokens (digest, refresh_digest, email, scope, expires_at) VALUES (?, ?, ?, ?, ?)";
      await db.run(sql, digest, refreshDigest, email, scope, expiresAt);
    },
    async findRefresh(digest) {
      const row = await db.get("SELECT * FROM refresh_tokens WHERE digest = ?", digest);
      return row && refreshTokenOf(row);
    },
    async insertRefresh({ digest, email, scope, hours, lastUsedAt }) {
      const sql = "INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at) VALUES (?, ?, ?, ?, ?)";
      await db.run(sql, digest, email, scope, hours, lastUsedAt);
    },
    async touchRefresh(digest, now) {
      await db.run("UPDATE refresh_tokens SET last_used_at = ? WHERE digest = ?", now, digest);
    },
    async removeExpired(lastUsedAt, now) {
      await db.run("DELETE FROM refresh_tokens WHERE last_used_at <= ?", lastUsedAt);
      await db.run(
        `DELETE FROM access_tokens WHERE expires_at <= ?
           AND NOT EXISTS (SELECT 1 FROM refresh_tokens WHERE digest = access_tokens.refresh_digest)`,
        now,
      );
    },
    async removeOf(email) {
      await db.run("DELETE FROM refresh_tokens WHERE email = ?", email);
      await db.run("DELETE FROM access_tokens WHERE email = ?", email);
      changed(subjects.credentials(email));
    },
    async hasLive(email, lastUsedAfter, now) {
      const row = await db.get(
        `SELECT EXISTS (SELECT 1 FROM access_tokens WHERE email = ?1 AND expires_at > ?3)
           OR EXISTS (SELECT 1 FROM refresh_tokens WHERE email = ?1 AND last_used_at > ?2)
           OR EXISTS (SELECT 1 FROM sessions WHERE email = ?1 AND expires_at > ?3) AS live`,
        email,
        lastUsedAfter,
        now,
      );
      return row?.boolean("live") === true;
    },
  };
}

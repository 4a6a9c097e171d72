import { authenticRow } from "./authentic-row.ts";
import { batches, repeated } from "./batches.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { AccessToken, RefreshToken, TokenPair } from "../records.ts";
import type { MacFields, RowSeals } from "../row-macs.ts";
import type { TokenTable } from "../tables/account-tables.ts";
import { subjects } from "../change-feed.ts";

function networksOf(row: Row): string[] {
  const text = row.text("allowed_networks");
  return text === "" ? [] : text.split(",");
}

function accessTokenOf(row: Row): AccessToken {
  return {
    digest: row.text("digest"),
    name: row.text("name"),
    issuer: row.text("issuer"),
    refreshDigest: row.text("refresh_digest"),
    email: row.text("email"),
    scope: row.text("scope"),
    expiresAt: row.number("expires_at"),
    allowedNetworks: networksOf(row),
    createdAt: row.number("created_at"),
    issuedAt: row.number("issued_at"),
    usedAt: row.number("used_at"),
  };
}

function refreshTokenOf(row: Row): RefreshToken {
  return {
    digest: row.text("digest"),
    email: row.text("email"),
    scope: row.text("scope"),
    hours: row.number("hours"),
    lastUsedAt: row.number("last_used_at"),
    allowedNetworks: networksOf(row),
    endsAt: row.number("ends_at"),
  };
}

function accessFields({
  digest,
  refreshDigest,
  email,
  scope,
  expiresAt,
  allowedNetworks,
}: AccessToken): MacFields {
  return [digest, refreshDigest, email, scope, expiresAt, allowedNetworks.join(",")];
}

function refreshFields({
  digest,
  email,
  scope,
  hours,
  allowedNetworks,
  endsAt,
}: RefreshToken): MacFields {
  return [digest, email, scope, hours, allowedNetworks.join(","), endsAt];
}

/**
 * Returns the condition that a user has a live token or session, by the parameters of the last use
 * of a refresh token and of the current time. Refresh tokens come first: a user who has one may have
 * thousands of access tokens.
 */
function liveSql(email: string, lastUse: string, now: string): string {
  return `EXISTS (SELECT 1 FROM refresh_tokens WHERE email = ${email} AND last_used_at > ${lastUse} AND (ends_at = 0 OR ends_at > ${now}))
           OR EXISTS (SELECT 1 FROM sessions WHERE email = ${email} AND expires_at > ${now})
           OR EXISTS (SELECT 1 FROM access_tokens WHERE email = ${email} AND expires_at > ${now})`;
}

/**
 * Selects the users, among `count` from ?3, who have a live token or session; ?1 is the last use of
 * a refresh token, ?2 the current time.
 */
function liveOfSql(count: number): string {
  const emails = Array.from(
    { length: count },
    (_, index) => `SELECT CAST(?${index + 3} AS text) AS email`,
  );
  return `SELECT e.email FROM (${emails.join(" UNION ALL ")}) AS e WHERE ${liveSql("e.email", "?1", "?2")}`;
}

const EXPIRED = `
  SELECT digest, expires_at, NOT EXISTS (SELECT 1 FROM refresh_tokens AS r WHERE r.digest = a.refresh_digest) AS orphan
  FROM access_tokens AS a WHERE expires_at <= ?1 AND expires_at >= ?2 AND (expires_at > ?2 OR digest > ?3)
  ORDER BY expires_at, digest LIMIT ?4`;

/** The operations on access tokens. */
function accessTokens(
  db: SqlConnection,
  seals: RowSeals,
  changed: (subject: string) => void,
): Pick<
  TokenTable,
  "findAccess" | "insertAccess" | "touchAccess" | "removeOldAccess" | "removeOrphans"
> {
  return {
    findAccess: (digest) =>
      authenticRow(db, seals, "access_tokens", digest, accessTokenOf, accessFields),
    async insertAccess(token) {
      const {
        digest,
        name,
        issuer,
        refreshDigest,
        email,
        scope,
        expiresAt,
        createdAt,
        issuedAt,
        usedAt,
        allowedNetworks,
      } = token;
      const sql = `INSERT INTO access_tokens
        (digest, name, issuer, refresh_digest, email, scope, expires_at, created_at, issued_at, used_at, allowed_networks, mac)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
      const [mac = ""] = await seals.sign("access_tokens", [accessFields(token)]);
      const networks = allowedNetworks.join(",");
      await db.run(
        sql,
        digest,
        name,
        issuer,
        refreshDigest,
        email,
        scope,
        expiresAt,
        createdAt,
        issuedAt,
        usedAt,
        networks,
        mac,
      );
    },
    async touchAccess(digest, now) {
      await db.run("UPDATE access_tokens SET used_at = ? WHERE digest = ?", now, digest);
    },
    async removeOldAccess({ digest, refreshDigest, email }, keep) {
      const sql = `DELETE FROM access_tokens WHERE digest IN (
        SELECT digest FROM access_tokens WHERE refresh_digest = ? AND digest <> ? ORDER BY issued_at DESC, expires_at DESC LIMIT ? OFFSET ?)`;
      const removed = await db.run(sql, refreshDigest, digest, Number.MAX_SAFE_INTEGER, keep - 1);
      if (removed > 0) changed(subjects.credentials(email));
    },
    async removeOrphans(now, after, atMost) {
      const rows = await db.all(EXPIRED, now, after?.expiresAt ?? 0, after?.digest ?? "", atMost);
      for (const row of rows) {
        if (row.boolean("orphan"))
          await db.run("DELETE FROM access_tokens WHERE digest = ?", row.text("digest"));
      }
      const last = rows.length < atMost ? undefined : rows.at(-1);
      return last && { digest: last.text("digest"), expiresAt: last.number("expires_at") };
    },
  };
}

/** The operations on refresh tokens. */
function refreshTokens(
  db: SqlConnection,
  seals: RowSeals,
): Pick<
  TokenTable,
  | "findRefresh"
  | "insertRefresh"
  | "touchRefresh"
  | "countRefresh"
  | "removeUnused"
  | "removeIdleRefresh"
> {
  return {
    findRefresh: (digest) =>
      authenticRow(db, seals, "refresh_tokens", digest, refreshTokenOf, refreshFields),
    async insertRefresh(token) {
      const { digest, email, scope, hours, lastUsedAt, allowedNetworks, endsAt } = token;
      const sql = `INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at, allowed_networks, ends_at, mac)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
      const [mac = ""] = await seals.sign("refresh_tokens", [refreshFields(token)]);
      await db.run(
        sql,
        digest,
        email,
        scope,
        hours,
        lastUsedAt,
        allowedNetworks.join(","),
        endsAt,
        mac,
      );
    },
    async touchRefresh(digest, now) {
      await db.run("UPDATE refresh_tokens SET last_used_at = ? WHERE digest = ?", now, digest);
    },
    async countRefresh(email) {
      const row = await db.get(
        "SELECT count(*) AS count FROM refresh_tokens WHERE email = ?",
        email,
      );
      return row?.number("count") ?? 0;
    },
    async removeUnused(lastUsedAt, atMost) {
      const sql =
        "DELETE FROM refresh_tokens WHERE digest IN (SELECT digest FROM refresh_tokens WHERE last_used_at <= ? LIMIT ?)";
      return db.run(sql, lastUsedAt, atMost);
    },
    async removeIdleRefresh(email, now, atMost) {
      return db.run(
        `DELETE FROM refresh_tokens WHERE digest IN (
          SELECT digest FROM refresh_tokens AS r WHERE email = ? AND NOT EXISTS (
            SELECT 1 FROM access_tokens WHERE refresh_digest = r.digest AND expires_at > ?) ORDER BY last_used_at LIMIT ?)`,
        email,
        now,
        atMost,
      );
    },
  };
}

/** Pairs of one statement, each of which has several scopes of some kilobytes. */
const PAIRS_TOGETHER = 16;

// Every pair has an access token: an expired one is removed after its refresh token.
function pairsSql(count: number): string {
  return `
  SELECT a.refresh_digest, MIN(a.scope) AS scope, MIN(a.name) AS name, MIN(a.issuer) AS issuer, MIN(a.created_at) AS created_at, MAX(a.used_at) AS used_at,
    MAX(a.expires_at) AS expires_at, COALESCE(MAX(r.last_used_at), 0.0) AS refreshed_at,
    MIN(a.allowed_networks) AS allowed_networks, COALESCE(MAX(r.ends_at), 0.0) AS ends_at
  FROM access_tokens AS a LEFT JOIN refresh_tokens AS r ON r.digest = a.refresh_digest
  WHERE a.refresh_digest IN (${repeated(count, () => "?")}) GROUP BY a.refresh_digest`;
}

function tokenPairOf(row: Row): TokenPair {
  const [createdAt, refreshedAt] = [row.number("created_at"), row.number("refreshed_at")];
  return {
    refreshDigest: row.text("refresh_digest"),
    name: row.text("name"),
    issuer: row.text("issuer"),
    scope: row.text("scope"),
    createdAt,
    usedAt: Math.max(createdAt, row.number("used_at"), refreshedAt),
    expiresAt: row.number("expires_at"),
    refreshedAt,
    allowedNetworks: networksOf(row),
    endsAt: row.number("ends_at"),
  };
}

/** The operations on pairs of both tokens, and on the users who have them. */
function pairsOf(
  db: SqlConnection,
  changed: (subject: string) => void,
): Pick<TokenTable, "logins" | "pairs" | "removePair" | "removeOf" | "live" | "haveLive"> {
  return {
    async logins(email) {
      const sql = "SELECT DISTINCT refresh_digest FROM access_tokens WHERE email = ?";
      return (await db.all(sql, email)).map((row) => row.text("refresh_digest"));
    },
    async pairs(refreshDigests) {
      const pairs: TokenPair[] = [];
      for (const batch of batches(refreshDigests, PAIRS_TOGETHER))
        pairs.push(...(await db.all(pairsSql(batch.length), ...batch)).map(tokenPairOf));
      return pairs;
    },
    async removePair(email, refreshDigest) {
      await db.run(
        "DELETE FROM refresh_tokens WHERE email = ? AND digest = ?",
        email,
        refreshDigest,
      );
      await db.run(
        "DELETE FROM access_tokens WHERE email = ? AND refresh_digest = ?",
        email,
        refreshDigest,
      );
      changed(subjects.credentials(email));
    },
    async removeOf(email) {
      await db.run("DELETE FROM refresh_tokens WHERE email = ?", email);
      await db.run("DELETE FROM access_tokens WHERE email = ?", email);
      changed(subjects.credentials(email));
    },
    async live(emails, lastUsedAfter, now) {
      const live = new Set<string>();
      const read = Array.from(batches(emails), (batch) =>
        db.all(liveOfSql(batch.length), lastUsedAfter, now, ...batch),
      );
      for (const row of (await Promise.all(read)).flat()) live.add(row.text("email"));
      return live;
    },
    async haveLive(groupId, except, lastUsedAfter, now) {
      const row = await db.get(
        `SELECT NOT EXISTS (SELECT 1 FROM team_members AS m WHERE m.group_id = ?1 AND m.email <> ?4 AND NOT (${liveSql("m.email", "?2", "?3")})) AS live`,
        groupId,
        lastUsedAfter,
        now,
        except,
      );
      return row?.boolean("live") === true;
    },
  };
}

/** @param changed called when credentials end before their time */
export function sqlTokens(
  db: SqlConnection,
  seals: RowSeals,
  changed: (subject: string) => void,
): TokenTable {
  return {
    ...accessTokens(db, seals, changed),
    ...refreshTokens(db, seals),
    ...pairsOf(db, changed),
  };
}

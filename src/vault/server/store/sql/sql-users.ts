import type { SqlConnection } from "./sql-connection.ts";
import type { Credentials } from "../records.ts";
import type { RowSeals } from "../row-macs.ts";
import type { LoginFailureTable, UserTable, SettingTable } from "../tables/account-tables.ts";
import { subjects } from "../change-feed.ts";

/** Characters of a PHC string after its cost parameters. */
const SALT_AND_HASH = 67;
const HASHES_BY_COST = `
  SELECT MIN(password_hash) AS password_hash FROM users GROUP BY substr(password_hash, 1,
    CASE WHEN length(password_hash) > ${SALT_AND_HASH} THEN length(password_hash) - ${SALT_AND_HASH} ELSE 0 END)`;

/**
 * Removes what is kept under an address of throttled logins, known networks and clients, requested
 * emails and invitations.
 */
async function removeEvents(db: SqlConnection, email: string): Promise<void> {
  for (const subject of [`account:${email}`, `email-to:${email}`, `invitations-by:${email}`]) {
    await db.run("DELETE FROM login_failures WHERE subject = ?", subject);
  }
  for (const prefix of [
    `login:${email}`,
    `known:${email}`,
    `agent:${email}`,
    `client:${email}`,
    `invitation:${email}`,
  ]) {
    // Subjects that continue after a space; no address contains one.
    await db.run(
      "DELETE FROM login_failures WHERE subject > ? AND subject < ?",
      `${prefix} `,
      `${prefix}!`,
    );
  }
}

export function sqlUsers(db: SqlConnection, seals: RowSeals): UserTable {
  const macOf = async ({ email, passwordHash }: Credentials): Promise<string> =>
    (await seals.sign("users", [[email, passwordHash]])).join("");
  return {
    async find(email) {
      const row = await db.get("SELECT * FROM users WHERE email = ?", email);
      if (!row) return undefined;
      const hash = row.text("password_hash");
      const isAuthentic = seals.accepts("users", [email, hash], row.text("mac"), { email });
      return {
        email,
        passwordHash: isAuthentic ? hash : undefined,
        disabled: row.number("disabled") !== 0,
      };
    },
    async any() {
      return (await db.get("SELECT 1 AS one FROM users LIMIT 1")) !== undefined;
    },
    async list() {
      const rows = await db.all("SELECT email, disabled FROM users ORDER BY email");
      return rows.map((row) => ({
        email: row.text("email"),
        disabled: row.number("disabled") !== 0,
      }));
    },
    async insert(user, now) {
      const sql =
        "INSERT INTO users (email, password_hash, created_at, mac) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
      return (await db.run(sql, user.email, user.passwordHash, now, await macOf(user))) > 0;
    },
    async setPasswordHash(user) {
      const sql = "UPDATE users SET password_hash = ?, mac = ? WHERE email = ?";
      await db.run(sql, user.passwordHash, await macOf(user), user.email);
    },
    async belongings(email) {
      const sql = `SELECT (SELECT COUNT(*) FROM secrets WHERE owner = ?1) AS secrets,
        (SELECT COUNT(*) FROM files WHERE owner = ?1) AS files, (SELECT COUNT(*) FROM teams WHERE creator = ?1) AS teams`;
      const row = await db.get(sql, email);
      return {
        secrets: row?.number("secrets") ?? 0,
        files: row?.number("files") ?? 0,
        teams: row?.number("teams") ?? 0,
      };
    },
    async setDisabled(email, disabled) {
      await db.run("UPDATE users SET disabled = ? WHERE email = ?", disabled ? 1 : 0, email);
    },
    async hashesByCost() {
      return (await db.all(HASHES_BY_COST)).map((row) => row.text("password_hash"));
    },
    async remove(email) {
      await removeEvents(db, email);
      await db.run("DELETE FROM email_proofs WHERE email = ?", email);
      await db.run("DELETE FROM outbox WHERE recipient = ?1 OR sender = ?1", email);
      await db.run("DELETE FROM team_members WHERE email = ?", email);
      for (const subject of [subjects.user(email), subjects.files(email)]) {
        await db.run("DELETE FROM list_revisions WHERE subject = ?", subject);
      }
      // Tokens, sessions and blocked senders are removed with the row.
      await db.run("DELETE FROM users WHERE email = ?", email);
    },
  };
}

export function sqlLoginFailures(db: SqlConnection): LoginFailureTable {
  return {
    async since(subject, from) {
      const sql =
        "SELECT count(*) AS count, coalesce(max(at), 0.0) AS last_at FROM login_failures WHERE subject = ? AND at > ?";
      const row = await db.get(sql, subject, from);
      return { count: row?.number("count") ?? 0, lastAt: row?.number("last_at") ?? 0 };
    },
    async add(subject, at) {
      await db.run("INSERT INTO login_failures (subject, at) VALUES (?, ?)", subject, at);
    },
    async clear(subject) {
      await db.run("DELETE FROM login_failures WHERE subject = ?", subject);
    },
    async keepNewest(prefix, keep) {
      const sql = `DELETE FROM login_failures WHERE subject > ?1 AND subject < ?2 AND at <
        (SELECT at FROM login_failures WHERE subject > ?1 AND subject < ?2 ORDER BY at DESC LIMIT 1 OFFSET ?3)`;
      await db.run(sql, `${prefix} `, `${prefix}!`, keep - 1);
    },
    async removeBefore(timestamp, atMost) {
      // The rows have no key: rows of one time are removed together.
      const rows = await db.all(
        "SELECT at FROM login_failures WHERE at <= ? ORDER BY at LIMIT ?",
        timestamp,
        atMost,
      );
      const last = rows.at(-1);
      return last ? db.run("DELETE FROM login_failures WHERE at <= ?", last.number("at")) : 0;
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

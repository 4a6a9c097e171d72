import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Session } from "../records.ts";
import type { RowSeals } from "../row-macs.ts";
import { subjects } from "../subjects.ts";
import type { EmailProofTable, SessionTable } from "../tables/account-tables.ts";

/** The removals of a table with an owner and an expiry in each row. */
function removals(
  db: SqlConnection,
  table: "sessions" | "email_proofs",
): Pick<EmailProofTable, "removeOf" | "removeExpired"> {
  return {
    async removeOf(email) {
      await db.run(`DELETE FROM ${table} WHERE email = ?`, email);
    },
    async removeExpired(now, atMost) {
      const sql = `DELETE FROM ${table} WHERE digest IN (SELECT digest FROM ${table} WHERE expires_at <= ? LIMIT ?)`;
      return db.run(sql, now, atMost);
    },
  };
}

function sessionOf(row: Row): Session {
  return {
    digest: row.text("digest"),
    name: row.text("name"),
    email: row.text("email"),
    createdAt: row.number("created_at"),
    expiresAt: row.number("expires_at"),
    usedAt: row.number("used_at"),
  };
}

/** @param changed called when credentials end before their time */
export function sqlSessions(
  db: SqlConnection,
  seals: RowSeals,
  changed: (subject: string) => void,
): SessionTable {
  const { removeOf, removeExpired } = removals(db, "sessions");
  return {
    removeExpired,
    async removeOf(email) {
      await removeOf(email);
      changed(subjects.credentials(email));
    },
    async find(digest) {
      const row = await db.get("SELECT * FROM sessions WHERE digest = ?", digest);
      const session = row && sessionOf(row);
      if (
        !session ||
        !seals.accepts("sessions", [digest, session.email], row.text("mac"), {
          email: session.email,
        })
      )
        return undefined;
      return session;
    },
    async insert({ digest, name, email, createdAt, expiresAt, usedAt }) {
      const sql =
        "INSERT INTO sessions (digest, name, email, created_at, expires_at, used_at, mac) VALUES (?, ?, ?, ?, ?, ?, ?)";
      const [mac = ""] = await seals.sign("sessions", [[digest, email]]);
      await db.run(sql, digest, name, email, createdAt, expiresAt, usedAt, mac);
    },
    async list(email) {
      const rows = await db.all(
        "SELECT * FROM sessions WHERE email = ? ORDER BY created_at DESC, digest",
        email,
      );
      return rows.map(sessionOf);
    },
    async update({ digest, expiresAt, usedAt }) {
      await db.run(
        "UPDATE sessions SET expires_at = ?, used_at = ? WHERE digest = ?",
        expiresAt,
        usedAt,
        digest,
      );
    },
    async remove(digest) {
      const removed = await db.get("DELETE FROM sessions WHERE digest = ? RETURNING email", digest);
      if (removed) changed(subjects.credentials(removed.text("email")));
    },
  };
}

export function sqlEmailProofs(db: SqlConnection, seals: RowSeals): EmailProofTable {
  return {
    ...removals(db, "email_proofs"),
    async find(digest) {
      const row = await db.get("SELECT * FROM email_proofs WHERE digest = ?", digest);
      if (!row) return undefined;
      const [email, expiresAt] = [row.text("email"), row.number("expires_at")];
      if (!seals.accepts("email_proofs", [digest, email, expiresAt], row.text("mac"), { email }))
        return undefined;
      return { digest, email, expiresAt };
    },
    async insert({ digest, email, expiresAt }) {
      const [mac = ""] = await seals.sign("email_proofs", [[digest, email, expiresAt]]);
      await db.run(
        "INSERT INTO email_proofs (digest, email, expires_at, mac) VALUES (?, ?, ?, ?)",
        digest,
        email,
        expiresAt,
        mac,
      );
    },
  };
}

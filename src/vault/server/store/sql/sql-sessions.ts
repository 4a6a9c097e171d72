import { authenticRow } from "./authentic-row.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { EmailProof, Session } from "../records.ts";
import type { MacFields, RowSeals } from "../row-macs.ts";
import type { EmailProofTable, SessionTable } from "../tables/account-tables.ts";
import { subjects } from "../change-feed.ts";

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

const sessionFields = ({ digest, email }: Session): MacFields => [digest, email];

const proofOf = (row: Row): EmailProof => ({
  digest: row.text("digest"),
  email: row.text("email"),
  expiresAt: row.number("expires_at"),
});

const proofFields = ({ digest, email, expiresAt }: EmailProof): MacFields => [
  digest,
  email,
  expiresAt,
];

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
    find: (digest) => authenticRow(db, seals, "sessions", digest, sessionOf, sessionFields),
    async insert(session) {
      const { digest, name, email, createdAt, expiresAt, usedAt } = session;
      const sql =
        "INSERT INTO sessions (digest, name, email, created_at, expires_at, used_at, mac) VALUES (?, ?, ?, ?, ?, ?, ?)";
      const [mac = ""] = await seals.sign("sessions", [sessionFields(session)]);
      await db.run(sql, digest, name, email, createdAt, expiresAt, usedAt, mac);
    },
    async removeOld({ digest, email }, keep) {
      const sql = `DELETE FROM sessions WHERE digest IN (
        SELECT digest FROM sessions WHERE email = ? AND digest <> ? ORDER BY used_at DESC, digest LIMIT ? OFFSET ?)`;
      const removed = await db.run(sql, email, digest, Number.MAX_SAFE_INTEGER, keep - 1);
      if (removed > 0) changed(subjects.credentials(email));
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
    find: (digest) => authenticRow(db, seals, "email_proofs", digest, proofOf, proofFields),
    async insert(proof) {
      const { digest, email, expiresAt } = proof;
      const [mac = ""] = await seals.sign("email_proofs", [proofFields(proof)]);
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

import type { SqlConnection } from "./sql-connection.ts";
import type {
  BlockedSenderTable,
  AdminActionTable,
  IdentityTable,
  Usage,
  UsageTable,
} from "../tables/account-tables.ts";
import { z } from "zod";
import { adminActions, type Identity } from "../records.ts";
import type { Row } from "./row.ts";
import type { MacFields, RowSeals } from "../row-macs.ts";

/** Returns the amounts that a row counts. */
export function usageOf(row: Row | undefined): Usage {
  if (!row) return { secrets: 0, versions: 0, bytes: 0, grants: 0 };
  return {
    secrets: row.number("secrets"),
    versions: row.number("versions"),
    bytes: row.number("bytes"),
    grants: row.number("grants"),
  };
}

const TOTAL = `
  SELECT CAST(coalesce(sum(secrets), 0) AS bigint) AS secrets, CAST(coalesce(sum(versions), 0) AS bigint) AS versions,
    CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes, CAST(coalesce(sum(grants), 0) AS bigint) AS grants FROM account_usage`;

export function sqlUsage(db: SqlConnection): UsageTable {
  return {
    async of(email) {
      return usageOf(
        await db.get(
          "SELECT secrets, versions, bytes, grants FROM account_usage WHERE email = ?",
          email,
        ),
      );
    },
    async total() {
      return usageOf(await db.get(TOTAL));
    },
  };
}

const known = z.enum(adminActions);

export function sqlAdminActions(db: SqlConnection): AdminActionTable {
  return {
    async insert({ id, at, action, email, identity = "" }) {
      await db.run(
        "INSERT INTO admin_actions (id, at, action, email, identity) VALUES (?, ?, ?, ?, ?)",
        id,
        at,
        action,
        email,
        identity,
      );
    },
    async list() {
      const rows = await db.all("SELECT * FROM admin_actions ORDER BY at, id");
      return rows.map((row) => ({
        id: row.text("id"),
        at: row.number("at"),
        action: known.parse(row.text("action")),
        email: row.text("email"),
        identity: row.text("identity"),
      }));
    },
    async remove(id) {
      await db.run("DELETE FROM admin_actions WHERE id = ?", id);
    },
  };
}

export function sqlBlockedSenders(db: SqlConnection): BlockedSenderTable {
  return {
    async block(email, senders) {
      const sql =
        "INSERT INTO blocked_senders (email, sender) VALUES (?, ?) ON CONFLICT DO NOTHING";
      for (const sender of senders) await db.run(sql, email, sender);
    },
    async unblock(email, senders) {
      for (const sender of senders)
        await db.run("DELETE FROM blocked_senders WHERE email = ? AND sender = ?", email, sender);
    },
    async list(email) {
      const rows = await db.all(
        "SELECT sender FROM blocked_senders WHERE email = ? ORDER BY sender",
        email,
      );
      return rows.map((row) => row.text("sender"));
    },
    async has(email, sender) {
      const row = await db.get(
        "SELECT 1 AS one FROM blocked_senders WHERE email = ? AND sender = ?",
        email,
        sender,
      );
      return row !== undefined;
    },
  };
}

const PUT = `
  INSERT INTO identities (issuer, subject, email, scope, created_at, mac) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (issuer, subject) DO UPDATE SET email = excluded.email, scope = excluded.scope, mac = excluded.mac`;

const identityOf = (row: Row): Identity => ({
  issuer: row.text("issuer"),
  subject: row.text("subject"),
  email: row.text("email"),
  scope: row.text("scope"),
});

/** The fields that the MAC of a row covers. */
const fieldsOf = ({ issuer, subject, email, scope }: Identity): MacFields => [
  issuer,
  subject,
  email,
  scope,
];

export function sqlIdentities(db: SqlConnection, seals: RowSeals): IdentityTable {
  return {
    async find(issuer, subject) {
      const row = await db.get(
        "SELECT * FROM identities WHERE issuer = ? AND subject = ?",
        issuer,
        subject,
      );
      if (!row) return undefined;
      const found = identityOf(row);
      const about = { issuer, subject, email: found.email };
      return seals.accepts("identities", fieldsOf(found), row.text("mac"), about)
        ? found
        : undefined;
    },
    async put(identity, now) {
      const [mac = ""] = await seals.sign("identities", [fieldsOf(identity)]);
      const { issuer, subject, email, scope } = identity;
      await db.run(PUT, issuer, subject, email, scope, now, mac);
    },
    async list() {
      return (await db.all("SELECT * FROM identities ORDER BY issuer, subject")).map(identityOf);
    },
    async remove(issuer, subject) {
      await db.run("DELETE FROM identities WHERE issuer = ? AND subject = ?", issuer, subject);
    },
  };
}

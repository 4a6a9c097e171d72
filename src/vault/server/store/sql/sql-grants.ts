import { batches, repeated } from "./batches.ts";
import { evidenceOf, KINDS, moving, recipientFields, tableOf } from "./sql-grant-seals.ts";
import { NOT_REMOVED } from "./retired-name.ts";
import { permissionColumns, permissionOf, type Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Permission } from "../../../../protocol/responses.ts";
import type { Grant, Grantee, Recipient, SecretIdentity } from "../records.ts";
import type { RowSeals } from "../row-macs.ts";
import type { GrantTable } from "../tables/sharing-tables.ts";

/** Selects the addresses that the secret ?1 is granted to. */
const RECIPIENTS = `
  SELECT email FROM person_grants WHERE secret_id = ?1
  UNION SELECT m.email FROM team_grants AS g JOIN team_members AS m ON m.group_id = g.group_id WHERE g.secret_id = ?1`;

/**
 * Returns the condition that a recipient has accepted `sender`. CROSS JOIN keeps SQLite from
 * starting with all secrets of the recipient.
 */
function acceptedSql(recipient: string): string {
  return `
  EXISTS (SELECT 1 FROM person_grants AS g CROSS JOIN secrets AS s WHERE g.email = sender AND s.id = g.secret_id AND s.owner = ${recipient} AND ${NOT_REMOVED})
  OR EXISTS (SELECT 1 FROM team_members AS m CROSS JOIN teams AS t WHERE m.email = sender AND t.group_id = m.group_id AND t.creator = ${recipient})
  OR EXISTS (SELECT 1 FROM team_members AS m CROSS JOIN team_grants AS g CROSS JOIN secrets AS s
    WHERE m.email = sender AND g.group_id = m.group_id AND s.id = g.secret_id AND s.owner = ${recipient} AND ${NOT_REMOVED})`;
}

/**
 * Selects a row if the user ?2 may learn whether the address ?1 is absent: the address has accepted
 * the user, the user shares with it directly, or both are members of a team that the user did not
 * create.
 */
const IS_ACQUAINTED = `
  SELECT 1 AS one FROM (SELECT CAST(?2 AS text) AS sender) AS caller WHERE ${acceptedSql("?1")}
  OR EXISTS (SELECT 1 FROM person_grants AS g CROSS JOIN secrets AS s WHERE g.email = ?1 AND s.id = g.secret_id AND s.owner = ?2 AND ${NOT_REMOVED})
  OR EXISTS (SELECT 1 FROM team_members AS own CROSS JOIN team_members AS m CROSS JOIN teams AS t
    WHERE own.email = ?2 AND m.group_id = own.group_id AND m.email = ?1 AND t.group_id = m.group_id AND t.creator <> ?2)`;

/**
 * Returns the query that sums up what `count` addresses from ?2 have received, at the time ?1, by
 * senders whom they have not accepted. It reads the size of each secret once, however many of them
 * have received it.
 */
function unacceptedSql(count: number): string {
  const isOne = (column: string): string =>
    `${column} IN (${repeated(count, (index) => `?${index + 2}`)})`;
  return `
  WITH received AS (
    SELECT email, secret_id FROM person_grants WHERE ${isOne("email")}
    UNION
    SELECT m.email, g.secret_id FROM team_members AS m JOIN team_grants AS g ON g.group_id = m.group_id
      WHERE ${isOne("m.email")} AND NOT EXISTS (
        SELECT 1 FROM hidden_team_grants AS h WHERE h.secret_id = g.secret_id AND h.group_id = g.group_id AND h.email = m.email)
  ), sizes AS MATERIALIZED (
    SELECT s.id, s.owner, octet_length(v.metadata) AS bytes
    FROM (SELECT DISTINCT secret_id FROM received) AS r JOIN secrets AS s ON s.id = r.secret_id JOIN secret_versions AS v ON v.secret_id = s.id
    WHERE +s.delete_at > ?1 AND v.version = (SELECT max(version) FROM secret_versions WHERE secret_id = s.id)
  ), senders AS (
    SELECT r.email AS recipient, s.owner AS sender, count(*) AS secrets, sum(s.bytes) AS bytes
    FROM received AS r JOIN sizes AS s ON s.id = r.secret_id WHERE s.owner <> r.email
    GROUP BY r.email, s.owner
  )
  SELECT recipient, sender, CAST(secrets AS bigint) AS secrets, CAST(bytes AS bigint) AS bytes,
    EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = recipient AND b.sender = senders.sender) AS blocked
  FROM senders WHERE NOT (${acceptedSql("recipient")})`;
}

// A separate statement for each kind reads no more of the index than it returns.
const GRANTEES = {
  person:
    "SELECT email AS name, reads, writes FROM person_grants WHERE secret_id = ? AND email > ? ORDER BY email LIMIT ?",
  team: "SELECT group_id AS name, reads, writes FROM team_grants WHERE secret_id = ? AND group_id > ? ORDER BY group_id LIMIT ?",
};

const INVITERS = `
  SELECT inviter FROM (
    SELECT s.owner AS inviter FROM person_grants AS g JOIN secrets AS s ON s.id = g.secret_id
      WHERE g.email = ?1 AND ${NOT_REMOVED}
    UNION SELECT t.creator AS inviter FROM team_members AS m JOIN teams AS t ON t.group_id = m.group_id WHERE m.email = ?1
  ) AS inviters
  WHERE inviter <> ?1 AND NOT EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = ?1 AND b.sender = inviter)
  ORDER BY inviter LIMIT ?2`;

const COUNT = `SELECT (SELECT count(*) FROM person_grants WHERE secret_id = ?1)
  + (SELECT count(*) FROM team_grants WHERE secret_id = ?1) AS count`;

/** Recipients of one statement, each of whom may have received thousands of secrets. */
const RECIPIENTS_TOGETHER = 16;

function nameOf(grantee: Grantee): string {
  return grantee.kind === "team" ? grantee.groupId : grantee.email;
}

/** Returns the grantees of one kind, each once: a statement must not write a row twice. */
function ofKind<T extends Grantee>(kind: Grantee["kind"], grantees: readonly T[]): T[] {
  const all = grantees.filter((grantee) => grantee.kind === kind);
  return [...new Map(all.map((grantee) => [nameOf(grantee), grantee])).values()];
}

function granteeOf(kind: Grantee["kind"], name: string): Grantee {
  return kind === "person" ? { kind, email: name } : { kind, groupId: name };
}

function grantOf(kind: Grantee["kind"], row: Row): Grant {
  return { ...granteeOf(kind, row.text("name")), permission: permissionOf(row) };
}

/** The operations on the addresses that secrets are granted to. */
function grantsTo(
  db: SqlConnection,
): Pick<
  GrantTable,
  "isAcquainted" | "inviters" | "countOf" | "recipients" | "unaccepted" | "received" | "removeOf"
> {
  return {
    async isAcquainted(email, user) {
      return (await db.get(IS_ACQUAINTED, email, user)) !== undefined;
    },
    async countOf(secretId) {
      const row = await db.get(COUNT, secretId);
      return row?.number("count") ?? 0;
    },
    async recipients(secretId) {
      return (await db.all(RECIPIENTS, secretId)).map((row) => row.text("email"));
    },
    async unaccepted(emails, now) {
      const all = Array.from(batches(emails, RECIPIENTS_TOGETHER), (batch) =>
        db.all(unacceptedSql(batch.length), now, ...batch),
      );
      return (await Promise.all(all)).flat().map((row) => ({
        recipient: row.text("recipient"),
        sender: row.text("sender"),
        blocked: row.boolean("blocked"),
        secrets: row.number("secrets"),
        bytes: row.number("bytes"),
      }));
    },
    async inviters(email, atMost) {
      const rows = await db.all(INVITERS, email, atMost);
      return rows.map((row) => row.text("inviter"));
    },
    async received(email, atMost) {
      const sql = "SELECT secret_id FROM person_grants WHERE email = ? LIMIT ?";
      return (await db.all(sql, email, atMost)).map((row) => row.text("secret_id"));
    },
    async removeOf(email) {
      await db.run("DELETE FROM person_grants WHERE email = ?", email);
      await db.run("DELETE FROM hidden_team_grants WHERE email = ?", email);
    },
  };
}

/** Returns grants of one kind after a grantee of either kind. */
async function grantsOfKind(
  db: SqlConnection,
  kind: Grantee["kind"],
  {
    secretId,
    after,
    atMost,
  }: { readonly secretId: string; readonly after: Grantee | undefined; readonly atMost: number },
): Promise<Grant[]> {
  if (kind === "person" && after?.kind === "team") return [];
  const [name = ""] = after?.kind === kind ? [nameOf(after)] : [];
  return (await db.all(GRANTEES[kind], secretId, name, atMost)).map((row) => grantOf(kind, row));
}

/** Returns the given names that had a grant, sorted. */
async function revokeOfKind(
  db: SqlConnection,
  kind: Grantee["kind"],
  secretId: string,
  names: readonly string[],
): Promise<Grantee[]> {
  const [table, column] = tableOf[kind];
  const revoked = await Promise.all(
    batches(names).map((batch) => {
      const among = repeated(batch.length, () => "?");
      return db.all(
        `DELETE FROM ${table} WHERE secret_id = ? AND ${column} IN (${among}) RETURNING ${column} AS name`,
        secretId,
        ...batch,
      );
    }),
  );
  const sorted = revoked
    .flat()
    .map((row) => row.text("name"))
    .toSorted();
  return sorted.map((name) => granteeOf(kind, name));
}

/** Counts the grants of one kind to these names. */
async function countOfKind(
  db: SqlConnection,
  kind: Grantee["kind"],
  secretId: string,
  names: readonly string[],
): Promise<number> {
  const [table, column] = tableOf[kind];
  const rows = await Promise.all(
    [...batches(names)].map((batch) => {
      const among = repeated(batch.length, () => "?");
      return db.get(
        `SELECT count(*) AS count FROM ${table} WHERE secret_id = ? AND ${column} IN (${among})`,
        secretId,
        ...batch,
      );
    }),
  );
  return rows.reduce((sum, row) => sum + (row?.number("count") ?? 0), 0);
}

/** Adds grants or replaces their permission. */
function granting(db: SqlConnection, seals: RowSeals): Pick<GrantTable, "grant"> {
  const undoDismissals = (secretId: string, groupId: string): Promise<number> =>
    db.run(
      "DELETE FROM hidden_team_grants WHERE secret_id = ? AND group_id = ?",
      secretId,
      groupId,
    );
  const grant = async (
    kind: Grantee["kind"],
    secret: SecretIdentity,
    recipients: readonly Recipient[],
    permission: Permission,
  ): Promise<void> => {
    const [table, column] = tableOf[kind];
    const columns = permissionColumns(permission);
    const macs = await seals.sign(
      table,
      recipients.map((recipient) => recipientFields(secret, recipient, columns)),
    );
    const rows = recipients.map((recipient, index) => [nameOf(recipient), macs[index] ?? ""]);
    const insert = (batch: readonly string[][]): Promise<number> =>
      db.run(
        `INSERT INTO ${table} (secret_id, reads, writes, ${column}, mac)
         VALUES ${repeated(batch.length, (index) => `(?1, CAST(?2 AS integer), CAST(?3 AS integer), ?${2 * index + 4}, ?${2 * index + 5})`)}
         ON CONFLICT (secret_id, ${column}) DO UPDATE SET reads = excluded.reads, writes = excluded.writes, mac = excluded.mac`,
        secret.id,
        ...columns,
        ...batch.flat(),
      );
    await Promise.all(batches(rows).map(insert));
    if (kind === "team")
      await Promise.all(
        recipients.map((recipient) => undoDismissals(secret.id, nameOf(recipient))),
      );
  };
  return {
    async grant(secret, recipients, permission) {
      for (const kind of KINDS) await grant(kind, secret, ofKind(kind, recipients), permission);
    },
  };
}

export function sqlGrants(db: SqlConnection, seals: RowSeals): GrantTable {
  return {
    ...grantsTo(db),
    ...evidenceOf(db, seals),
    ...granting(db, seals),
    ...moving(db, seals),
    async countAmong(secretId, grantees) {
      const counts = KINDS.map((kind) =>
        countOfKind(db, kind, secretId, ofKind(kind, grantees).map(nameOf)),
      );
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
    },
    async revoke(secretId, grantees) {
      const revoked = KINDS.map((kind) =>
        revokeOfKind(db, kind, secretId, ofKind(kind, grantees).map(nameOf)),
      );
      return (await Promise.all(revoked)).flat();
    },
    async grantees(secretId, after, atMost = Number.MAX_SAFE_INTEGER) {
      const persons = await grantsOfKind(db, "person", { secretId, after, atMost });
      if (persons.length === atMost) return persons;
      return [
        ...persons,
        ...(await grantsOfKind(db, "team", { secretId, after, atMost: atMost - persons.length })),
      ];
    },
    async dismissShare(secretId, email) {
      await db.run("DELETE FROM person_grants WHERE secret_id = ? AND email = ?", secretId, email);
      await db.run(
        `INSERT INTO hidden_team_grants (secret_id, group_id, email)
           SELECT g.secret_id, g.group_id, m.email FROM team_grants AS g JOIN team_members AS m ON m.group_id = g.group_id
           WHERE g.secret_id = ? AND m.email = ?
         ON CONFLICT DO NOTHING`,
        secretId,
        email,
      );
    },
  };
}

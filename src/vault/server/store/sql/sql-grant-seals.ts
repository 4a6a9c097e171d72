import { permissionOf } from "./permission-columns.ts";
import { RETIRED_AT } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Grantee, Recipient, SecretIdentity } from "../records.ts";
import type { MacFields, RowSeals } from "../row-macs.ts";
import type { GrantTable } from "../tables/sharing-tables.ts";

export const KINDS = ["person", "team"] as const;
/** Table of the grants to each kind of grantee, and its column with their names. */
export const tableOf = {
  person: ["person_grants", "email"],
  team: ["team_grants", "group_id"],
} as const;

/**
 * Selects the grants of the secret ?1 to the user ?2, each with the membership that it applies
 * through.
 */
const EVIDENCE = `
  SELECT g.reads, g.writes, g.mac, '' AS group_id, '' AS team_id, '' AS member_mac FROM person_grants AS g WHERE g.secret_id = ?1 AND g.email = ?2
  UNION ALL
  SELECT g.reads, g.writes, g.mac, g.group_id, t.id AS team_id, m.mac AS member_mac
    FROM team_grants AS g JOIN teams AS t ON t.group_id = g.group_id JOIN team_members AS m ON m.group_id = g.group_id AND m.email = ?2
    WHERE g.secret_id = ?1 AND NOT EXISTS (
      SELECT 1 FROM hidden_team_grants AS h WHERE h.secret_id = g.secret_id AND h.group_id = g.group_id AND h.email = ?2)`;

/** Number of grants, and of memberships, of an address that are checked: rows added by SQL may be many. */
const CHECKED = 100;
const GRANTS_TO = `SELECT s.id, s.owner, s.name, g.reads, g.writes, g.mac FROM person_grants AS g JOIN secrets AS s ON s.id = g.secret_id
  WHERE g.email = ? AND s.delete_at <> ${RETIRED_AT} LIMIT ${CHECKED}`;
const MEMBERSHIPS_OF = `SELECT m.group_id, t.id AS team_id, m.mac AS member_mac FROM team_members AS m JOIN teams AS t ON t.group_id = m.group_id
  WHERE m.email = ? LIMIT ${CHECKED}`;

/** Returns what the MAC of a grant covers. */
export function recipientFields(
  { id, owner, name }: SecretIdentity,
  to: Recipient,
  permission: readonly [number, number],
): MacFields {
  const recipient = to.kind === "person" ? [to.email] : [to.groupId, to.teamId];
  return [id, owner, name, ...recipient, ...permission];
}

function identityOf(row: Row): SecretIdentity {
  return { id: row.text("id"), owner: row.text("owner"), name: row.text("name") };
}

/** The check of what grants and memberships give. */
export function evidenceOf(
  db: SqlConnection,
  seals: RowSeals,
): Pick<GrantTable, "authenticPermission" | "isInvited"> {
  const isGranted = (row: Row, secret: SecretIdentity, to: Recipient): boolean => {
    const [table] = tableOf[to.kind];
    const fields = recipientFields(secret, to, [row.number("reads"), row.number("writes")]);
    const recipient = to.kind === "person" ? to.email : to.groupId;
    const about = { owner: secret.owner, key_name: secret.name, recipient };
    return seals.accepts(table, fields, row.text("mac"), about);
  };
  const isMember = (row: Row, email: string): boolean => {
    const [groupId, teamId] = [row.text("group_id"), row.text("team_id")];
    const about = { group_id: groupId, email };
    return seals.accepts("team_members", [groupId, teamId, email], row.text("member_mac"), about);
  };
  const isAuthentic = (row: Row, secret: SecretIdentity, email: string): boolean => {
    const groupId = row.text("group_id");
    if (groupId === "") return isGranted(row, secret, { kind: "person", email });
    const granted = isGranted(row, secret, { kind: "team", groupId, teamId: row.text("team_id") });
    return isMember(row, email) && granted;
  };
  return {
    async authenticPermission(secret, email) {
      const rows = await db.all(EVIDENCE, secret.id, email);
      const granted = rows.filter((row) => isAuthentic(row, secret, email)).map(permissionOf);
      if (granted.length === 0) return undefined;
      const [reads, writes] = [
        granted.some((one) => one !== "W"),
        granted.some((one) => one !== "R"),
      ];
      return reads && writes ? "RW" : reads ? "R" : "W";
    },
    async isInvited(email) {
      const grants = await db.all(GRANTS_TO, email);
      if (grants.some((row) => isGranted(row, identityOf(row), { kind: "person", email })))
        return true;
      return (await db.all(MEMBERSHIPS_OF, email)).some((row) => isMember(row, email));
    },
  };
}

/** Number of grants that are sealed again at a time. */
const PAGE = 500;

/** Seals the grants of a secret for another owner or name. */
export function moving(db: SqlConnection, seals: RowSeals): Pick<GrantTable, "sealFor"> {
  const page = (kind: Grantee["kind"], secretId: string, after: string): Promise<Row[]> => {
    const [table, column] = tableOf[kind];
    const teamId =
      kind === "team"
        ? "coalesce((SELECT t.id FROM teams AS t WHERE t.group_id = g.group_id), '')"
        : "''";
    return db.all(
      `SELECT g.${column} AS name, g.reads, g.writes, g.mac, ${teamId} AS team_id FROM ${table} AS g
       WHERE g.secret_id = ? AND g.${column} > ? ORDER BY g.${column} LIMIT ${PAGE}`,
      secretId,
      after,
    );
  };
  /**
   * Seals the grants of a page that a server has written: invented ones give nothing to the new
   * owner's readers either.
   */
  const sealPage = async (
    kind: Grantee["kind"],
    rows: readonly Row[],
    from: SecretIdentity,
    to: SecretIdentity,
  ): Promise<void> => {
    const [table, column] = tableOf[kind];
    const grants = rows.map((row) => {
      const name = row.text("name");
      const recipient: Recipient =
        kind === "person"
          ? { kind, email: name }
          : { kind, groupId: name, teamId: row.text("team_id") };
      return {
        name,
        recipient,
        permission: [row.number("reads"), row.number("writes")] as const,
        mac: row.text("mac"),
      };
    });
    const authentic = grants.filter(({ name, recipient, permission, mac }) => {
      const about = { owner: from.owner, key_name: from.name, recipient: name };
      return seals.accepts(table, recipientFields(from, recipient, permission), mac, about);
    });
    const macs = await seals.sign(
      table,
      authentic.map(({ recipient, permission }) => recipientFields(to, recipient, permission)),
    );
    for (const [index, { name }] of authentic.entries()) {
      await db.run(
        `UPDATE ${table} SET mac = ? WHERE secret_id = ? AND ${column} = ?`,
        macs[index] ?? "",
        from.id,
        name,
      );
    }
  };
  return {
    async sealFor(from, to) {
      for (const kind of KINDS) {
        let rows = await page(kind, from.id, "");
        for (; rows.length > 0; rows = await page(kind, from.id, rows.at(-1)?.text("name") ?? "")) {
          await sealPage(kind, rows, from, to);
        }
      }
    },
  };
}

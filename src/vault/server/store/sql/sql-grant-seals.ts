import { NOT_REMOVED } from "./retired-name.ts";
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

/** A grant `g` to a user as text, as `parseEvidence` reads it. */
export const DIRECT_EVIDENCE = "g.reads || ' ' || g.writes || ' ' || g.mac";
/** A grant `g` to the team `t` with the membership `m`. Only the name of a team may have spaces. */
export const TEAM_EVIDENCE = `${DIRECT_EVIDENCE} || ' ' || t.id || ' ' || m.mac || ' ' || g.group_id`;
/** Separates grants: names have no control characters. */
export const EVIDENCE_SEPARATOR = "\u001F";

/** A grant to a user, directly or as a member of a team. */
interface Evidence {
  readonly permission: Columns;
  readonly mac: string;
  readonly member: Membership | undefined;
}

type Columns = readonly [reads: number, writes: number];

interface Membership {
  readonly groupId: string;
  readonly teamId: string;
  readonly mac: string;
}

/** Parses what a writer of the database may have changed: MACs are checked after it. */
function parseEvidence(text: string): Evidence {
  const [reads, writes, mac = "", teamId, memberMac = "", ...name] = text.split(" ");
  const member =
    teamId === undefined ? undefined : { groupId: name.join(" "), teamId, mac: memberMac };
  return { permission: [Number(reads), Number(writes)], mac, member };
}

/** Number of grants, and of memberships, of an address that are checked: rows added by SQL may be many. */
const CHECKED = 100;
const GRANTS_TO = `SELECT s.id, s.owner, s.name, g.reads, g.writes, g.mac FROM person_grants AS g JOIN secrets AS s ON s.id = g.secret_id
  WHERE g.email = ? AND ${NOT_REMOVED} LIMIT ${CHECKED}`;
const MEMBERSHIPS_OF = `SELECT m.group_id, t.id AS team_id, m.mac FROM team_members AS m JOIN teams AS t ON t.group_id = m.group_id
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

/** The check of what grants and memberships give. */
export function evidenceOf(
  db: SqlConnection,
  seals: RowSeals,
): Pick<GrantTable, "authenticPermission" | "isInvited"> {
  const isGranted = (
    secret: SecretIdentity,
    to: Recipient,
    { permission, mac }: Pick<Evidence, "permission" | "mac">,
  ): boolean => {
    const [table] = tableOf[to.kind];
    const recipient = to.kind === "person" ? to.email : to.groupId;
    const about = { owner: secret.owner, key_name: secret.name, recipient };
    return seals.accepts(table, recipientFields(secret, to, permission), mac, about);
  };
  const isMember = ({ groupId, teamId, mac }: Membership, email: string): boolean =>
    seals.accepts("team_members", [groupId, teamId, email], mac, { group_id: groupId, email });
  const isAuthentic = (one: Evidence, secret: SecretIdentity, email: string): boolean => {
    const { member } = one;
    if (!member) return isGranted(secret, { kind: "person", email }, one);
    const granted = isGranted(secret, { kind: "team", ...member }, one);
    return isMember(member, email) && granted;
  };
  return {
    authenticPermission({ secret, evidence }, email) {
      const granted = evidence
        .split(EVIDENCE_SEPARATOR)
        .map(parseEvidence)
        .filter((one) => isAuthentic(one, secret, email));
      const [reads, writes] = [0, 1].map((column) =>
        granted.some(({ permission }) => permission[column] !== 0),
      );
      if (granted.length === 0) return undefined;
      return reads === true && writes === true ? "RW" : reads === true ? "R" : "W";
    },
    async isInvited(email) {
      const grants = await db.all(GRANTS_TO, email);
      const direct = grants.some((row) => {
        const secret = { id: row.text("id"), owner: row.text("owner"), name: row.text("name") };
        const permission = [row.number("reads"), row.number("writes")] as const;
        return isGranted(secret, { kind: "person", email }, { permission, mac: row.text("mac") });
      });
      if (direct) return true;
      const memberships = await db.all(MEMBERSHIPS_OF, email);
      return memberships.some((row) =>
        isMember(
          { groupId: row.text("group_id"), teamId: row.text("team_id"), mac: row.text("mac") },
          email,
        ),
      );
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

import type { RightName, RightTable } from "../tables/rotation-tables.ts";
import { RETIRED_AT } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";

interface RightShape {
  /** Columns or queries, in the order in which the tables seal them. */
  readonly fields: readonly string[];
  /** Columns of the primary key. */
  readonly key: readonly string[];
  readonly where?: string;
}

const TEAM_ID = "(SELECT t.id FROM teams AS t WHERE t.group_id = r.group_id)";
const SECRET = [
  "r.secret_id",
  "(SELECT owner FROM secrets WHERE id = r.secret_id)",
  // In the trash a secret has another name; its grants keep the MACs of the former one.
  "coalesce((SELECT name FROM trashed_secrets WHERE id = r.secret_id), (SELECT name FROM secrets WHERE id = r.secret_id))",
];
// Retired secrets have another name, and give nothing any more.
const OF_LIVE_SECRET = `EXISTS (SELECT 1 FROM secrets WHERE id = r.secret_id AND delete_at <> ${RETIRED_AT})`;

/**
 * Columns that MACs cover: none that a right outlives a change of, such as the last use of a token.
 */
const rightShapes: Readonly<Record<RightName, RightShape>> = {
  users: { fields: ["r.email", "r.password_hash"], key: ["email"] },
  refresh_tokens: {
    fields: ["r.digest", "r.email", "r.scope", "r.hours", "r.allowed_networks", "r.ends_at"],
    key: ["digest"],
  },
  access_tokens: {
    fields: [
      "r.digest",
      "r.refresh_digest",
      "r.email",
      "r.scope",
      "r.expires_at",
      "r.allowed_networks",
    ],
    key: ["digest"],
  },
  sessions: { fields: ["r.digest", "r.email"], key: ["digest"] },
  email_proofs: { fields: ["r.digest", "r.email", "r.expires_at"], key: ["digest"] },
  teams: { fields: ["r.group_id", "r.id", "r.creator"], key: ["group_id"] },
  team_members: { fields: ["r.group_id", TEAM_ID, "r.email"], key: ["group_id", "email"] },
  person_grants: {
    fields: [...SECRET, "r.email", "r.reads", "r.writes"],
    key: ["secret_id", "email"],
    where: OF_LIVE_SECRET,
  },
  team_grants: {
    fields: [...SECRET, "r.group_id", TEAM_ID, "r.reads", "r.writes"],
    key: ["secret_id", "group_id"],
    where: OF_LIVE_SECRET,
  },
  identities: {
    fields: ["r.issuer", "r.subject", "r.email", "r.scope"],
    key: ["issuer", "subject"],
  },
};

/** Lengths of the id of a master key at the start of a MAC. */
const KEY_ID = "substr(r.mac, 1, 16)";

function pageSql(table: RightName, after: boolean): string {
  const { fields, key, where = "true" } = rightShapes[table];
  const columns = [
    ...fields.map((field, index) => `${field} AS field_${index}`),
    ...key.map((name) => `r.${name} AS key_${name}`),
  ];
  const keys = key.map((name) => `r.${name}`).join(", ");
  const position = after ? `AND (${keys}) > (${key.map(() => "?").join(", ")})` : "";
  return `SELECT ${columns.join(", ")}, r.mac FROM ${table} AS r WHERE ${KEY_ID} <> ? AND ${where} ${position} ORDER BY ${keys} LIMIT ?`;
}

function setSql(table: RightName): string {
  const { key } = rightShapes[table];
  return `UPDATE ${table} SET mac = ? WHERE mac = ? AND ${key.map((name) => `${name} = ?`).join(" AND ")}`;
}

/** Returns text or a number. @throws TypeError */
function fieldOf(row: Row, column: string): string | number {
  const value = row.value(column);
  if (value instanceof Uint8Array)
    throw new TypeError(`column ${column}: expected text or a number`);
  return value;
}

export function sqlRights(db: SqlConnection): RightTable {
  return {
    async otherThan(table, masterKeyId, after, atMost) {
      const { fields, key } = rightShapes[table];
      const rows = await db.all(
        pageSql(table, after !== undefined),
        masterKeyId,
        ...(after?.key ?? []),
        atMost,
      );
      return rows.map((row) => ({
        table,
        key: key.map((name) => row.value(`key_${name}`)),
        fields: fields.map((_field, index) => fieldOf(row, `field_${index}`)),
        mac: row.text("mac"),
      }));
    },
    async setMac({ table, key, mac: former }, mac) {
      return (await db.run(setSql(table), mac, former, ...key)) > 0;
    },
  };
}

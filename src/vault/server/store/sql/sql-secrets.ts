import type { Envelope } from "../../crypto/envelope.ts";
import type { Metadata } from "../../../../protocol/metadata.ts";
import { permissionOf, type Row } from "./row.ts";
import { secretRemoval, type SecretRemovalTable } from "./secret-removal.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { DIRECT_EVIDENCE, EVIDENCE_SEPARATOR, TEAM_EVIDENCE } from "./sql-grant-seals.ts";
import type { ListedSecret, NamedAccess, Secret, SecretAccess, SecretVersion } from "../records.ts";
import { LIST_PAGE_SIZE, type SecretTable } from "../tables/secret-table.ts";

function isMetadata(value: unknown): value is Metadata {
  return typeof value === "object" && value !== null;
}

/** @throws TypeError when it is not an object */
function metadataOf(text: string): Metadata {
  const metadata: unknown = JSON.parse(text);
  if (isMetadata(metadata)) return metadata;
  throw new TypeError("stored metadata: expected an object");
}

function secretOf(row: Row): Secret {
  return {
    id: row.text("id"),
    owner: row.text("owner"),
    name: row.text("name"),
    nextVersion: row.number("next_version"),
    deleteMinutes: row.number("delete_minutes"),
    deleteAt: row.number("delete_at"),
  };
}

function versionOf(row: Row): SecretVersion {
  return {
    version: row.number("version"),
    metadata: metadataOf(row.text("metadata")),
    createdAt: row.number("created_at"),
    createdBy: row.text("created_by"),
    updatedAt: row.number("updated_at"),
  };
}

const VERSION_COLUMNS = "version, metadata, created_at, created_by, updated_at";
const VALUE_COLUMNS = "key_id, wrapped_key, sealed";
// Depends on `s` only, to look this version up: a condition on `v` would be checked for every
// version of the secret.
const IS_LATEST = "v.version = (SELECT max(version) FROM secret_versions WHERE secret_id = s.id)";

/** Excludes the secrets of senders whom the user ?1 has blocked. */
const NOT_BLOCKED =
  "NOT EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = ?1 AND b.sender = s.owner)";

/**
 * Selects the secrets accessible to the user ?1, own and received, as `accessible`; `narrow`
 * restricts the secrets. With `evidence`, each has the rows that give the access.
 */
function accessibleSql(
  narrow: string,
  { ownedBy = "s.owner = ?1", evidence = false } = {},
): string {
  const [direct, ofTeam] = evidence ? [DIRECT_EVIDENCE, TEAM_EVIDENCE] : ["''", "''"];
  const all = evidence ? `string_agg(evidence, '${EVIDENCE_SEPARATOR}')` : "''";
  const teams = evidence ? "JOIN teams AS t ON t.group_id = g.group_id" : "";
  return `
    WITH granted AS (
      SELECT g.secret_id, g.reads, g.writes, ${direct} AS evidence FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id
        WHERE g.email = ?1 AND s.owner <> ?1 AND ${NOT_BLOCKED} ${narrow}
      UNION ALL
      SELECT g.secret_id, g.reads, g.writes, ${ofTeam} AS evidence
        FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id JOIN team_members AS m ON m.group_id = g.group_id ${teams}
        WHERE m.email = ?1 AND s.owner <> ?1 AND ${NOT_BLOCKED} ${narrow} AND NOT EXISTS (
          SELECT 1 FROM hidden_team_grants AS h WHERE h.secret_id = g.secret_id AND h.group_id = g.group_id AND h.email = ?1)
    ), accessible AS (
      SELECT s.id AS secret_id, 1 AS reads, 1 AS writes, '' AS evidence FROM secrets AS s WHERE ${ownedBy} ${narrow}
      UNION ALL
      SELECT secret_id, max(reads), max(writes), ${all} FROM granted GROUP BY secret_id
    )`;
}

const SHARED = `EXISTS (SELECT 1 FROM person_grants WHERE secret_id = s.id)
        OR EXISTS (SELECT 1 FROM team_grants WHERE secret_id = s.id) AS shared`;
const IS_LISTED = `+s.delete_at > ?2 AND ${IS_LATEST}`;

/** Selects the rows of `accessible` whose deadline is after ?2, each with its latest version. */
function accessSql(accessible: string): string {
  return `${accessible}
    SELECT s.*, ${VERSION_COLUMNS}, accessible.reads, accessible.writes, accessible.evidence, ${SHARED}
    FROM accessible JOIN secrets AS s ON s.id = accessible.secret_id JOIN secret_versions AS v ON v.secret_id = s.id
    WHERE ${IS_LISTED} ORDER BY s.name, s.owner`;
}

const ACCESS_BY_NAME = accessSql(accessibleSql("AND s.name = ?3", { evidence: true }));
// May include received secrets that are no longer accessible: `accessByIds` filters them.
const ALL_IDS = `
  SELECT id FROM (
    SELECT s.id, s.name, s.owner FROM secrets AS s WHERE s.owner = ?1 AND s.delete_at > ?2
    UNION ALL
    SELECT * FROM (
      SELECT s.id, s.name, s.owner FROM person_grants AS g JOIN secrets AS s ON s.id = g.secret_id
        WHERE g.email = ?1 AND s.owner <> ?1 AND ${NOT_BLOCKED} AND +s.delete_at > ?2
      UNION
      SELECT s.id, s.name, s.owner FROM team_members AS m JOIN team_grants AS g ON g.group_id = m.group_id
        JOIN secrets AS s ON s.id = g.secret_id
        WHERE m.email = ?1 AND s.owner <> ?1 AND ${NOT_BLOCKED} AND +s.delete_at > ?2
    ) AS received
  ) AS all_ids ORDER BY name, owner`;
const ID_PLACEHOLDERS = Array.from({ length: LIST_PAGE_SIZE }, (_, index) => `?${index + 3}`).join(
  ", ",
);
// The user's own secrets, each with its newest version unless that was deleted.
const OWN = `FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id AND v.version = s.next_version - 1
  WHERE s.owner = ?1 AND s.delete_at > ?2`;
const OWN_BY_NAME = `SELECT s.*, ${VERSION_COLUMNS}, ${SHARED}, ${VALUE_COLUMNS} ${OWN} AND s.name = ?3`;
const OWN_ACCESS = `SELECT s.*, ${VERSION_COLUMNS}, ${SHARED}
  FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id WHERE s.owner = ?1 AND s.name = ?3 AND ${IS_LISTED}`;
// Neighbors in an index. The columns that are known are omitted, because each one costs time for
// every row.
const ownBetween = (columns: string): string => `SELECT s.id, ${columns} ${OWN}
  AND s.name BETWEEN (SELECT name FROM secrets WHERE id = ?3) AND (SELECT name FROM secrets WHERE id = ?4)
  ORDER BY s.name LIMIT ${LIST_PAGE_SIZE + 1}`;
const OWN_BETWEEN = ownBetween(
  `s.name, s.delete_minutes, s.delete_at, ${VERSION_COLUMNS}, ${SHARED}`,
);
// The empty string keeps the planner from reading all secrets of the owner for each of these ids.
const ACCESS_BY_IDS = accessSql(
  accessibleSql(`AND s.id IN (${ID_PLACEHOLDERS})`, { ownedBy: "s.owner || '' = ?1" }),
);

// SQLite passes the value on its way to the last column of a row: that takes a sixteenth of the
// time of as much metadata.
const LENGTH = "octet_length(v.metadata) + octet_length(v.sealed) / 16 AS length";
const OWN_LENGTHS = ownBetween(LENGTH);
const LENGTHS = `SELECT s.id, ${LENGTH} FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id
  WHERE s.id IN (${Array.from({ length: LIST_PAGE_SIZE }, (_, index) => `?${index + 1}`).join(", ")}) AND ${IS_LATEST}`;

/**
 * Returns as many ids as a statement for a page has placeholders: one prepared statement serves all
 * pages.
 */
function padded(ids: readonly string[], filler: string): string[] {
  return Array.from({ length: LIST_PAGE_SIZE }, (_, index) => ids[index] ?? filler);
}

const lengthsOf = (rows: readonly Row[]): Map<string, number> =>
  new Map(rows.map((row) => [row.text("id"), row.number("length")]));

function accessOf(row: Row): SecretAccess {
  return {
    secret: secretOf(row),
    latest: versionOf(row),
    shared: row.boolean("shared"),
    permission: permissionOf(row),
  };
}

function listedOf(access: SecretAccess, row: Row): ListedSecret {
  return { ...access, metadataText: row.text("metadata") };
}

/** Returns a row of `OWN_BETWEEN`. */
function listedOwnOf(owner: string, row: Row): ListedSecret {
  const latest = versionOf(row);
  const secret: Secret = {
    id: row.text("id"),
    owner,
    name: row.text("name"),
    nextVersion: latest.version + 1,
    deleteMinutes: row.number("delete_minutes"),
    deleteAt: row.number("delete_at"),
  };
  return {
    secret,
    latest,
    shared: row.boolean("shared"),
    permission: "RW",
    metadataText: row.text("metadata"),
  };
}

function namedAccessOf(row: Row): NamedAccess {
  return { ...accessOf(row), evidence: row.text("evidence") };
}

function ownAccessOf(row: Row): NamedAccess {
  return {
    secret: secretOf(row),
    latest: versionOf(row),
    shared: row.boolean("shared"),
    permission: "RW",
    evidence: "",
  };
}

function envelopeOf(row: Row): Envelope {
  return {
    keyId: row.text("key_id"),
    wrappedKey: row.bytes("wrapped_key"),
    sealed: row.bytes("sealed"),
  };
}

export function sqlSecrets(db: SqlConnection): SecretTable {
  return { ...listedRows(db), ...secretRows(db), ...versionRows(db), ...secretRemoval(db) };
}

/** The operations that list secrets. */
function listedRows(
  db: SqlConnection,
): Pick<SecretTable, "listIds" | "accessByIds" | "metadataLengths"> {
  return {
    async listIds(email, now) {
      return (await db.all(ALL_IDS, email, now)).map((row) => row.text("id"));
    },
    async accessByIds(email, ids, now) {
      const [filler] = ids;
      if (filler === undefined) return [];
      // Most lists contain only own secrets with their newest version: the fast path suffices.
      const own = (await db.all(OWN_BETWEEN, email, now, filler, ids.at(-1) ?? filler)).map((row) =>
        listedOwnOf(email, row),
      );
      if (own.length === ids.length && own.every(({ secret }, index) => secret.id === ids[index]))
        return own;
      return (await db.all(ACCESS_BY_IDS, email, now, ...padded(ids, filler))).map((row) =>
        listedOf(accessOf(row), row),
      );
    },
    async metadataLengths(email, ids, now) {
      const [filler] = ids;
      if (filler === undefined) return new Map();
      // As above.
      const own = lengthsOf(await db.all(OWN_LENGTHS, email, now, filler, ids.at(-1) ?? filler));
      if (ids.every((id) => own.has(id))) return own;
      return lengthsOf(await db.all(LENGTHS, ...padded(ids, filler)));
    },
  };
}

type SecretRows = Pick<
  SecretTable,
  "ownByName" | "ownAccess" | "accessByName" | "insert" | "update"
>;

function secretRows(db: SqlConnection): SecretRows {
  return {
    async ownByName(email, name, now) {
      const row = await db.get(OWN_BY_NAME, email, now, name);
      return row && { access: ownAccessOf(row), value: envelopeOf(row) };
    },
    async ownAccess(email, name, now) {
      const row = await db.get(OWN_ACCESS, email, now, name);
      return row && ownAccessOf(row);
    },
    async accessByName(email, name, now) {
      return (await db.all(ACCESS_BY_NAME, email, now, name)).map(namedAccessOf);
    },
    async insert({ id, owner, name, nextVersion, deleteMinutes, deleteAt }) {
      const sql =
        "INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at) VALUES (?, ?, ?, ?, ?, ?)";
      await db.run(sql, id, owner, name, nextVersion, deleteMinutes, deleteAt);
    },
    async update({ id, nextVersion, deleteMinutes, deleteAt }) {
      const sql =
        "UPDATE secrets SET next_version = ?, delete_minutes = ?, delete_at = ? WHERE id = ?";
      await db.run(sql, nextVersion, deleteMinutes, deleteAt, id);
    },
  };
}

type VersionRows = Omit<
  SecretTable,
  keyof SecretRows | keyof ReturnType<typeof listedRows> | keyof SecretRemovalTable
>;

function versionRows(db: SqlConnection): VersionRows {
  const versionWhere = async (
    condition: string,
    ...values: (string | number)[]
  ): Promise<SecretVersion | undefined> => {
    const row = await db.get(
      `SELECT ${VERSION_COLUMNS} FROM secret_versions AS v WHERE ${condition}`,
      ...values,
    );
    return row && versionOf(row);
  };
  return {
    async insertVersion(
      secretId,
      { version, metadata, createdAt, createdBy, updatedAt },
      { keyId, wrappedKey, sealed },
    ) {
      await db.run(
        `INSERT INTO secret_versions (secret_id, version, metadata, created_at, created_by, updated_at, key_id, wrapped_key, sealed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        secretId,
        version,
        JSON.stringify(metadata),
        createdAt,
        createdBy,
        updatedAt,
        keyId,
        wrappedKey,
        sealed,
      );
    },
    async versions(secretId, after, atMost) {
      const sql = `SELECT ${VERSION_COLUMNS} FROM secret_versions WHERE secret_id = ? AND version > ? ORDER BY version LIMIT ?`;
      return (await db.all(sql, secretId, after, atMost)).map(versionOf);
    },
    async countVersions(secretId) {
      const row = await db.get(
        "SELECT count(*) AS count FROM secret_versions WHERE secret_id = ?",
        secretId,
      );
      return row?.number("count") ?? 0;
    },
    async version(secretId, version) {
      return versionWhere("secret_id = ? AND version = ?", secretId, version);
    },
    async latest(secretId) {
      return versionWhere("secret_id = ? ORDER BY version DESC LIMIT 1", secretId);
    },
    async value(secretId, version) {
      const row = await db.get(
        `SELECT ${VALUE_COLUMNS} FROM secret_versions WHERE secret_id = ? AND version = ?`,
        secretId,
        version,
      );
      return row && envelopeOf(row);
    },
    async updateVersion(secretId, { version, metadata, updatedAt }) {
      const sql =
        "UPDATE secret_versions SET metadata = ?, updated_at = ? WHERE secret_id = ? AND version = ?";
      await db.run(sql, JSON.stringify(metadata), updatedAt, secretId, version);
    },
    async removeVersion(secretId, version) {
      await db.wipe(
        "DELETE FROM secret_versions WHERE secret_id = ? AND version = ?",
        secretId,
        version,
      );
    },
  };
}

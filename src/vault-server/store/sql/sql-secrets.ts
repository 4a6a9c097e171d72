import type { Metadata } from "../../../protocol/metadata.ts";
import { permissionOf } from "./permission-columns.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { LISTED_AT_ONCE, type Holding, type Secret, type SecretTable, type SecretVersion } from "../store.ts";

function isMetadata(value: unknown): value is Metadata {
  return typeof value === "object" && value !== null;
}

/** @throws TypeError when it is none */
function metadataOf(text: string): Metadata {
  const metadata: unknown = JSON.parse(text);
  if (isMetadata(metadata)) return metadata;
  throw new TypeError("stored metadata is no object");
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
    updatedAt: row.number("updated_at"),
  };
}

const VERSION_COLUMNS = "version, metadata, created_at, updated_at";
const IS_LATEST = "version = (SELECT max(version) FROM secret_versions WHERE secret_id = v.secret_id)";

/** What the person ?1 has, their own secrets and received ones, as `held`; the conditions narrow the secrets down. */
function heldSql(narrow: string, ownedBy = "s.owner = ?1"): string {
  return `
    WITH granted AS (
      SELECT g.secret_id, g.reads, g.writes FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id
        WHERE g.email = ?1 AND s.owner <> ?1 ${narrow}
      UNION ALL
      SELECT g.secret_id, g.reads, g.writes
        FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id JOIN team_members AS m ON m.group_id = g.group_id
        WHERE m.email = ?1 AND s.owner <> ?1 ${narrow} AND NOT EXISTS (
          SELECT 1 FROM hidden_team_grants AS h WHERE h.secret_id = g.secret_id AND h.group_id = g.group_id AND h.email = ?1)
    ), held AS (
      SELECT s.id AS secret_id, 1 AS reads, 1 AS writes FROM secrets AS s WHERE ${ownedBy} ${narrow}
      UNION ALL
      SELECT secret_id, max(reads), max(writes) FROM granted GROUP BY secret_id
    )`;
}

const SHARED = `EXISTS (SELECT 1 FROM person_grants WHERE secret_id = s.id)
        OR EXISTS (SELECT 1 FROM team_grants WHERE secret_id = s.id) AS shared`;
const IS_THERE = `s.delete_at > ?2 AND ${IS_LATEST}`;

/** Of `held` what is there at the moment ?2, each with its latest version. */
function holdingsSql(held: string): string {
  return `${held}
    SELECT s.*, ${VERSION_COLUMNS}, held.reads, held.writes, ${SHARED}
    FROM held JOIN secrets AS s ON s.id = held.secret_id JOIN secret_versions AS v ON v.secret_id = s.id
    WHERE ${IS_THERE} ORDER BY s.name, s.owner`;
}

const HOLDINGS_BY_NAME = holdingsSql(heldSql("AND s.name = ?3"));
// Received ones may be some too many here: `listed` looks closely.
const ALL_IDS = `
  SELECT id FROM (
    SELECT s.id, s.name, s.owner FROM secrets AS s WHERE s.owner = ?1 AND s.delete_at > ?2
    UNION ALL
    SELECT * FROM (
      SELECT s.id, s.name, s.owner FROM person_grants AS g JOIN secrets AS s ON s.id = g.secret_id
        WHERE g.email = ?1 AND s.owner <> ?1 AND s.delete_at > ?2
      UNION
      SELECT s.id, s.name, s.owner FROM team_members AS m JOIN team_grants AS g ON g.group_id = m.group_id
        JOIN secrets AS s ON s.id = g.secret_id WHERE m.email = ?1 AND s.owner <> ?1 AND s.delete_at > ?2
    ) AS received
  ) AS had ORDER BY name, owner`;
const LISTED = Array.from({ length: LISTED_AT_ONCE }, (_, index) => `?${index + 3}`).join(", ");
// One's own from the name of one to that of another: neighbours in an index, each with the version made last, where that is still there.
const OWN_BETWEEN = `
  SELECT s.*, ${VERSION_COLUMNS}, ${SHARED}
  FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id AND v.version = s.next_version - 1
  WHERE s.owner = ?1 AND s.name BETWEEN (SELECT name FROM secrets WHERE id = ?3) AND (SELECT name FROM secrets WHERE id = ?4)
    AND s.delete_at > ?2 ORDER BY s.name LIMIT ${LISTED_AT_ONCE + 1}`;
// The empty string keeps the planner from reading all that the owner has for each of these ids.
const HOLDINGS_BY_ID = holdingsSql(heldSql(`AND s.id IN (${LISTED})`, "s.owner || '' = ?1"));

function holdingOf(row: Row): Holding {
  return { secret: secretOf(row), latest: versionOf(row), shared: row.boolean("shared"), permission: permissionOf(row) };
}

function ownHoldingOf(row: Row): Holding {
  return { secret: secretOf(row), latest: versionOf(row), shared: row.boolean("shared"), permission: "RW" };
}

export function sqlSecrets(db: SqlConnection): SecretTable {
  return { ...secretRows(db), ...versionRows(db) };
}

function secretRows(
  db: SqlConnection,
): Pick<SecretTable, "held" | "listIds" | "listed" | "insert" | "update" | "remove" | "removeDue"> {
  return {
    async held(email, name, now) {
      return (await db.all(HOLDINGS_BY_NAME, email, now, name)).map(holdingOf);
    },
    async listIds(email, now) {
      return (await db.all(ALL_IDS, email, now)).map((row) => row.text("id"));
    },
    async listed(email, ids, now) {
      const [filler] = ids;
      if (filler === undefined) return [];
      // Most lists are all one's own, and most have their last version: the short way does.
      const own = (await db.all(OWN_BETWEEN, email, now, filler, ids.at(-1) ?? filler)).map(ownHoldingOf);
      if (own.length === ids.length && own.every(({ secret }, index) => secret.id === ids[index])) return own;
      // Always as many, so that it is always the same statement.
      const padded = Array.from({ length: LISTED_AT_ONCE }, (_, index) => ids[index] ?? filler);
      return (await db.all(HOLDINGS_BY_ID, email, now, ...padded)).map(holdingOf);
    },
    async insert({ id, owner, name, nextVersion, deleteMinutes, deleteAt }) {
      const sql = "INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at) VALUES (?, ?, ?, ?, ?, ?)";
      await db.run(sql, id, owner, name, nextVersion, deleteMinutes, deleteAt);
    },
    async update({ id, nextVersion, deleteMinutes, deleteAt }) {
      const sql = "UPDATE secrets SET next_version = ?, delete_minutes = ?, delete_at = ? WHERE id = ?";
      await db.run(sql, nextVersion, deleteMinutes, deleteAt, id);
    },
    async remove(secretId) {
      await db.wipe("DELETE FROM secrets WHERE id = ?", secretId);
    },
    async removeDue(now) {
      return db.wipe("DELETE FROM secrets WHERE delete_at <= ?", now);
    },
  };
}

function versionRows(db: SqlConnection): Omit<SecretTable, keyof ReturnType<typeof secretRows>> {
  const versionWhere = async (condition: string, ...values: (string | number)[]): Promise<SecretVersion | undefined> => {
    const row = await db.get(`SELECT ${VERSION_COLUMNS} FROM secret_versions AS v WHERE ${condition}`, ...values);
    return row && versionOf(row);
  };
  return {
    async insertVersion(secretId, { version, metadata, createdAt, updatedAt }, { keyId, wrappedKey, sealed }) {
      await db.run(
        `INSERT INTO secret_versions (secret_id, version, metadata, created_at, updated_at, key_id, wrapped_key, sealed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        secretId,
        version,
        JSON.stringify(metadata),
        createdAt,
        updatedAt,
        keyId,
        wrappedKey,
        sealed,
      );
    },
    async versions(secretId) {
      const sql = `SELECT ${VERSION_COLUMNS} FROM secret_versions WHERE secret_id = ? ORDER BY version`;
      return (await db.all(sql, secretId)).map(versionOf);
    },
    async version(secretId, version) {
      return versionWhere("secret_id = ? AND version = ?", secretId, version);
    },
    async latest(secretId) {
      return versionWhere(`secret_id = ? AND ${IS_LATEST}`, secretId);
    },
    async value(secretId, version) {
      const sql = "SELECT key_id, wrapped_key, sealed FROM secret_versions WHERE secret_id = ? AND version = ?";
      const row = await db.get(sql, secretId, version);
      return row && { keyId: row.text("key_id"), wrappedKey: row.bytes("wrapped_key"), sealed: row.bytes("sealed") };
    },
    async updateVersion(secretId, { version, metadata, updatedAt }) {
      const sql = "UPDATE secret_versions SET metadata = ?, updated_at = ? WHERE secret_id = ? AND version = ?";
      await db.run(sql, JSON.stringify(metadata), updatedAt, secretId, version);
    },
    async removeVersion(secretId, version) {
      await db.wipe("DELETE FROM secret_versions WHERE secret_id = ? AND version = ?", secretId, version);
    },
  };
}

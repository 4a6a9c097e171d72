import { z } from "zod";
import type { Metadata } from "../../protocol/metadata.ts";
import type { Row } from "./row.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import type { Secret, SecretTable, SecretVersion } from "./store.ts";

const metadataText = z.custom<Metadata>((value) => typeof value === "object" && value !== null);

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
    metadata: metadataText.parse(JSON.parse(row.text("metadata"))),
    createdAt: row.number("created_at"),
    updatedAt: row.number("updated_at"),
  };
}

const VERSION_COLUMNS = "version, metadata, created_at, updated_at";
const IS_LATEST = "version = (SELECT max(version) FROM secret_versions WHERE secret_id = v.secret_id)";

export function sqliteSecrets(db: SqliteConnection): SecretTable {
  const versionWhere = (condition: string, ...values: (string | number)[]): SecretVersion | undefined => {
    const row = db.get(`SELECT ${VERSION_COLUMNS} FROM secret_versions AS v WHERE ${condition}`, ...values);
    return row && versionOf(row);
  };
  return {
    async find(owner, name, now) {
      const row = db.get("SELECT * FROM secrets WHERE owner = ? AND name = ? AND delete_at > ?", owner, name, now);
      return row && secretOf(row);
    },
    async insert({ id, owner, name, nextVersion, deleteMinutes, deleteAt }) {
      const sql = "INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at) VALUES (?, ?, ?, ?, ?, ?)";
      db.run(sql, id, owner, name, nextVersion, deleteMinutes, deleteAt);
    },
    async update({ id, nextVersion, deleteMinutes, deleteAt }) {
      const sql = "UPDATE secrets SET next_version = ?, delete_minutes = ?, delete_at = ? WHERE id = ?";
      db.run(sql, nextVersion, deleteMinutes, deleteAt, id);
    },
    async insertVersion(secretId, { version, metadata, createdAt, updatedAt }, { keyId, wrappedKey, sealed }) {
      db.run(
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
      return db
        .all(`SELECT ${VERSION_COLUMNS} FROM secret_versions WHERE secret_id = ? ORDER BY version`, secretId)
        .map(versionOf);
    },
    async version(secretId, version) {
      return versionWhere("secret_id = ? AND version = ?", secretId, version);
    },
    async latest(secretId) {
      return versionWhere(`secret_id = ? AND ${IS_LATEST}`, secretId);
    },
    async value(secretId, version) {
      const sql = "SELECT key_id, wrapped_key, sealed FROM secret_versions WHERE secret_id = ? AND version = ?";
      const row = db.get(sql, secretId, version);
      return row && { keyId: row.text("key_id"), wrappedKey: row.bytes("wrapped_key"), sealed: row.bytes("sealed") };
    },
    async list(owner, now) {
      const sql = `SELECT s.*, ${VERSION_COLUMNS} FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id
                   WHERE s.owner = ? AND s.delete_at > ? AND ${IS_LATEST} ORDER BY s.name`;
      return db.all(sql, owner, now).map((row) => ({ secret: secretOf(row), latest: versionOf(row) }));
    },
    async removeDue(now) {
      return db.run("DELETE FROM secrets WHERE delete_at <= ?", now);
    },
  };
}

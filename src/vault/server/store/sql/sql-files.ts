import { RETIRED_AT, RETIRED_MARK } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { FileVersion, StoredFile } from "../records.ts";
import type { FileTable } from "../tables/file-table.ts";

function fileOf(row: Row): StoredFile {
  return {
    id: row.text("id"),
    owner: row.text("owner"),
    name: row.text("name"),
    nextVersion: row.number("next_version"),
  };
}

function versionOf(row: Row): FileVersion {
  return {
    version: row.number("version"),
    size: row.number("size"),
    createdAt: row.number("created_at"),
    blobId: row.text("blob_id"),
    digest: {
      keyId: row.text("key_id"),
      wrappedKey: row.bytes("wrapped_key"),
      sealed: row.bytes("sealed"),
    },
  };
}

const LIST = `
  SELECT f.*, v.version, v.size, v.created_at, v.blob_id, v.key_id, v.wrapped_key, v.sealed
  FROM files AS f JOIN file_versions AS v ON v.file_id = f.id
  WHERE f.owner = ?1 AND f.name >= ?2 AND (f.name > ?2 OR v.version > ?3)
    AND NOT EXISTS (SELECT 1 FROM trashed_files AS t WHERE t.id = f.id) ORDER BY f.name, v.version LIMIT ?4`;

function stagedBlobs(
  db: SqlConnection,
): Pick<FileTable, "stage" | "stagedBytes" | "putChunk" | "chunk" | "discard" | "discardStale"> {
  const discard = async (blobIds: readonly string[]): Promise<number> => {
    let discarded = 0;
    for (const blobId of blobIds) {
      const staged = await db.run("DELETE FROM staged_blobs WHERE blob_id = ?", blobId);
      if (staged > 0) await db.wipe("DELETE FROM file_chunks WHERE blob_id = ?", blobId);
      discarded += staged;
    }
    return discarded;
  };
  return {
    discard,
    async stage(blobId, owner, now) {
      await db.run("INSERT INTO staged_blobs (blob_id, staged_at) VALUES (?, ?)", blobId, now);
      await db.run(
        "INSERT INTO staged_sizes (blob_id, owner, bytes) VALUES (?, ?, 0)",
        blobId,
        owner,
      );
    },
    async stagedBytes(owner) {
      const row = await db.get(
        "SELECT CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes FROM staged_sizes WHERE owner = ?",
        owner,
      );
      return row?.number("bytes") ?? 0;
    },
    async putChunk(blobId, index, sealed) {
      await db.run(
        "INSERT INTO file_chunks (blob_id, position, sealed) VALUES (?, ?, ?)",
        blobId,
        index,
        sealed,
      );
      await db.run(
        "UPDATE staged_sizes SET bytes = bytes + ? WHERE blob_id = ?",
        sealed.length,
        blobId,
      );
    },
    async chunk(blobId, index) {
      const row = await db.get(
        "SELECT sealed FROM file_chunks WHERE blob_id = ? AND position = ?",
        blobId,
        index,
      );
      return row?.bytes("sealed");
    },
    async discardStale(timestamp, atMost) {
      const stale = await db.get(
        "SELECT blob_id FROM staged_blobs WHERE staged_at < ? ORDER BY staged_at, blob_id LIMIT 1",
        timestamp,
      );
      if (!stale) return false;
      const blobId = stale.text("blob_id");
      const removed = await db.wipe(
        `DELETE FROM file_chunks WHERE blob_id = ?1 AND position IN (
          SELECT position FROM file_chunks WHERE blob_id = ?1 ORDER BY position LIMIT ?2)`,
        blobId,
        atMost,
      );
      if (removed < atMost) await db.run("DELETE FROM staged_blobs WHERE blob_id = ?", blobId);
      return true;
    },
  };
}

/**
 * Maximum number of small versions, and their maximum size, whose bytes a removal erases itself.
 */
const MOST_SMALL = 8;
const SMALL_BYTES = 1024 * 1024;
/** Versions that one statement removes. */
const VERSIONS_TOGETHER = 500;
/** Condition of the first ?2 versions of the file ?1. */
const FIRST =
  "file_id = ?1 AND version IN (SELECT version FROM file_versions WHERE file_id = ?1 ORDER BY version LIMIT ?2)";
/** Hides the file ?1 as an entry of the trash that has ended. Its amounts count for its owner. */
const RETIRE = `
  INSERT INTO trashed_files (id, owner, name, trashed_at, ends_at, versions, bytes)
  SELECT id, owner, name, ${RETIRED_AT}, ${RETIRED_AT}, 0, 0 FROM files WHERE id = ?1
  ON CONFLICT (id) DO UPDATE SET ends_at = excluded.ends_at, versions = 0, bytes = 0`;

function storedFiles(
  db: SqlConnection,
): Pick<
  FileTable,
  | "find"
  | "insert"
  | "update"
  | "removeVersion"
  | "retire"
  | "removeVersions"
  | "remove"
  | "removeOf"
> {
  const erase = (condition: string, ...values: (string | number)[]): Promise<number> => {
    const few = `SELECT blob_id FROM file_versions WHERE ${condition} AND size <= ${SMALL_BYTES} ORDER BY version LIMIT ${MOST_SMALL}`;
    return db.wipe(`DELETE FROM file_chunks WHERE blob_id IN (${few})`, ...values);
  };
  /** The sweeper removes the bytes that are left, in small transactions. */
  const removeVersions = async (
    condition: string,
    ...values: (string | number)[]
  ): Promise<number> => {
    await db.run(
      `INSERT INTO staged_blobs (blob_id, staged_at) SELECT blob_id, 0.0 FROM file_versions AS v
       WHERE ${condition} AND EXISTS (SELECT 1 FROM file_chunks AS c WHERE c.blob_id = v.blob_id)`,
      ...values,
    );
    return db.wipe(`DELETE FROM file_versions WHERE ${condition}`, ...values);
  };
  const removeFirst = (fileId: string, atMost: number): Promise<number> =>
    removeVersions(FIRST, fileId, atMost);
  return {
    async find(owner, name) {
      const row = await db.get("SELECT * FROM files WHERE owner = ? AND name = ?", owner, name);
      return row && fileOf(row);
    },
    async insert({ id, owner, name, nextVersion }) {
      await db.run(
        "INSERT INTO files (id, owner, name, next_version) VALUES (?, ?, ?, ?)",
        id,
        owner,
        name,
        nextVersion,
      );
    },
    async update({ id, nextVersion }) {
      await db.run("UPDATE files SET next_version = ? WHERE id = ?", nextVersion, id);
    },
    async removeVersion(fileId, version) {
      const isOne = "file_id = ? AND version = ?";
      await erase(isOne, fileId, version);
      await removeVersions(isOne, fileId, version);
    },
    async retire(fileId) {
      await db.run(RETIRE, fileId);
      const sql = "UPDATE files SET name = name || CAST(? AS text) || id WHERE id = ?";
      await db.run(sql, RETIRED_MARK, fileId);
    },
    removeVersions: removeFirst,
    async remove(fileId) {
      await erase("file_id = ?", fileId);
      for (let removed = VERSIONS_TOGETHER; removed === VERSIONS_TOGETHER;)
        removed = await removeFirst(fileId, VERSIONS_TOGETHER);
      await db.run("DELETE FROM files WHERE id = ?", fileId);
    },
    async removeOf(owner) {
      const own = "file_id IN (SELECT id FROM files WHERE owner = ?)";
      await db.wipe(
        `DELETE FROM file_chunks WHERE blob_id IN (SELECT blob_id FROM file_versions WHERE ${own})`,
        owner,
      );
      await db.wipe(`DELETE FROM file_versions WHERE ${own}`, owner);
      await db.run("DELETE FROM files WHERE owner = ?", owner);
    },
  };
}

export function sqlFiles(db: SqlConnection): FileTable {
  return {
    ...stagedBlobs(db),
    ...storedFiles(db),
    async insertVersion(fileId, { version, size, createdAt, blobId, digest }) {
      await db.run(
        `INSERT INTO file_versions (file_id, version, size, created_at, blob_id, key_id, wrapped_key, sealed)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        fileId,
        version,
        size,
        createdAt,
        blobId,
        digest.keyId,
        digest.wrappedKey,
        digest.sealed,
      );
      await db.run("DELETE FROM staged_blobs WHERE blob_id = ?", blobId);
    },
    async version(fileId, version) {
      const row = await db.get(
        "SELECT * FROM file_versions WHERE file_id = ? AND version = ?",
        fileId,
        version,
      );
      return row && versionOf(row);
    },
    async latest(fileId) {
      const row = await db.get(
        "SELECT * FROM file_versions WHERE file_id = ? ORDER BY version DESC LIMIT 1",
        fileId,
      );
      return row && versionOf(row);
    },
    async countVersions(fileId) {
      const sql = "SELECT count(*) AS count FROM file_versions WHERE file_id = ?";
      return (await db.get(sql, fileId))?.number("count") ?? 0;
    },
    async versions(fileId, after, atMost) {
      const sql =
        "SELECT version FROM file_versions WHERE file_id = ? AND version > ? ORDER BY version LIMIT ?";
      return (await db.all(sql, fileId, after, atMost)).map((row) => row.number("version"));
    },
    async named(owner, after, atMost) {
      const sql =
        "SELECT * FROM files AS f WHERE owner = ? AND name > ? AND NOT EXISTS (SELECT 1 FROM trashed_files WHERE id = f.id) ORDER BY name LIMIT ?";
      return (await db.all(sql, owner, after, atMost)).map(fileOf);
    },
    async list(owner, after, atMost) {
      const rows = await db.all(
        LIST,
        owner,
        after?.file.name ?? "",
        after?.version.version ?? 0,
        atMost,
      );
      return rows.map((row) => ({ file: fileOf(row), version: versionOf(row) }));
    },
  };
}

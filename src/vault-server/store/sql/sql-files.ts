import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { FileVersion, StoredFile } from "../records.ts";
import type { FileTable } from "../tables/file-table.ts";

function fileOf(row: Row): StoredFile {
  return { id: row.text("id"), owner: row.text("owner"), name: row.text("name"), nextVersion: row.number("next_version") };
}

function versionOf(row: Row): FileVersion {
  return {
    version: row.number("version"),
    size: row.number("size"),
    createdAt: row.number("created_at"),
    blobId: row.text("blob_id"),
    digest: { keyId: row.text("key_id"), wrappedKey: row.bytes("wrapped_key"), sealed: row.bytes("sealed") },
  };
}

function stagedBlobs(db: SqlConnection): Pick<FileTable, "stage" | "putChunk" | "chunk" | "discard" | "discardStagedBefore"> {
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
    async stage(blobId, now) {
      await db.run("INSERT INTO staged_blobs (blob_id, staged_at) VALUES (?, ?)", blobId, now);
    },
    async putChunk(blobId, index, sealed) {
      await db.run("INSERT INTO file_chunks (blob_id, position, sealed) VALUES (?, ?, ?)", blobId, index, sealed);
    },
    async chunk(blobId, index) {
      const row = await db.get("SELECT sealed FROM file_chunks WHERE blob_id = ? AND position = ?", blobId, index);
      return row?.bytes("sealed");
    },
    async discardStagedBefore(timestamp) {
      const stale = await db.all("SELECT blob_id FROM staged_blobs WHERE staged_at < ?", timestamp);
      return discard(stale.map((row) => row.text("blob_id")));
    },
  };
}

function storedFiles(db: SqlConnection): Pick<FileTable, "find" | "insert" | "update" | "removeVersion" | "remove"> {
  const removeVersions = async (condition: string, ...values: (string | number)[]): Promise<void> => {
    await db.wipe(`DELETE FROM file_chunks WHERE blob_id IN (SELECT blob_id FROM file_versions WHERE ${condition})`, ...values);
    await db.wipe(`DELETE FROM file_versions WHERE ${condition}`, ...values);
  };
  return {
    async find(owner, name) {
      const row = await db.get("SELECT * FROM files WHERE owner = ? AND name = ?", owner, name);
      return row && fileOf(row);
    },
    async insert({ id, owner, name, nextVersion }) {
      await db.run("INSERT INTO files (id, owner, name, next_version) VALUES (?, ?, ?, ?)", id, owner, name, nextVersion);
    },
    async update({ id, nextVersion }) {
      await db.run("UPDATE files SET next_version = ? WHERE id = ?", nextVersion, id);
    },
    async removeVersion(fileId, version) {
      await removeVersions("file_id = ? AND version = ?", fileId, version);
    },
    async remove(fileId) {
      await removeVersions("file_id = ?", fileId);
      await db.run("DELETE FROM files WHERE id = ?", fileId);
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
      const row = await db.get("SELECT * FROM file_versions WHERE file_id = ? AND version = ?", fileId, version);
      return row && versionOf(row);
    },
    async latest(fileId) {
      const row = await db.get("SELECT * FROM file_versions WHERE file_id = ? ORDER BY version DESC LIMIT 1", fileId);
      return row && versionOf(row);
    },
    async versions(fileId) {
      const sql = "SELECT version FROM file_versions WHERE file_id = ? ORDER BY version";
      return (await db.all(sql, fileId)).map((row) => row.number("version"));
    },
    async list(owner) {
      const versions = Map.groupBy(
        await db.all(
          "SELECT v.* FROM files AS f JOIN file_versions AS v ON v.file_id = f.id WHERE f.owner = ? ORDER BY v.file_id, v.version",
          owner,
        ),
        (row) => row.text("file_id"),
      );
      const files = await db.all("SELECT * FROM files WHERE owner = ? ORDER BY name", owner);
      return files.map(fileOf).map((file) => ({ file, versions: (versions.get(file.id) ?? []).map(versionOf) }));
    },
  };
}

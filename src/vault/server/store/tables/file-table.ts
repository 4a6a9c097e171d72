import type { FileVersion, StoredFile } from "../records.ts";

/** A version with its file. */
export interface ListedVersion {
  readonly file: StoredFile;
  readonly version: FileVersion;
}

export interface FileTable {
  find(owner: string, name: string): Promise<StoredFile | undefined>;
  insert(file: StoredFile): Promise<void>;
  update(file: StoredFile): Promise<void>;
  /** Inserts a version whose blob was staged; the blob is then no longer discarded as stale. */
  insertVersion(fileId: string, version: FileVersion): Promise<void>;
  version(fileId: string, version: number): Promise<FileVersion | undefined>;
  latest(fileId: string): Promise<FileVersion | undefined>;
  countVersions(fileId: string): Promise<number>;
  /** Returns the numbers of at most `atMost` versions in ascending order, starting after one. */
  versions(fileId: string, after: number, atMost: number): Promise<number[]>;
  /**
   * Returns at most `atMost` of the owner's files, by name in code point order, starting after a
   * name, without those in the trash.
   */
  named(owner: string, after: string, atMost: number): Promise<StoredFile[]>;
  /**
   * Returns at most `atMost` versions of the owner's files, by name in code point order, then by
   * number, starting after one. A file without a version has none.
   */
  list(owner: string, after: ListedVersion | undefined, atMost: number): Promise<ListedVersion[]>;
  /** Removes a version; the bytes of a large one become stale. */
  removeVersion(fileId: string, version: number): Promise<void>;
  /**
   * Hides a file, also one in the trash, permanently, and frees its name. Its versions stay until
   * they are removed.
   */
  retire(fileId: string): Promise<void>;
  /** Removes at most `atMost` versions of a retired file; returns their number. */
  removeVersions(fileId: string, atMost: number): Promise<number>;
  /** Removes a file with its versions; the bytes of many or large ones become stale. */
  remove(fileId: string): Promise<void>;
  /** Removes all files of one owner with their versions and their bytes. */
  removeOf(owner: string): Promise<void>;
  /** Registers a blob of an account; its chunks follow. */
  stage(blobId: string, owner: string, now: number): Promise<void>;
  /** Returns the bytes of all chunks of an account that are not part of a version yet. */
  stagedBytes(owner: string): Promise<number>;
  putChunk(blobId: string, index: number, sealed: Uint8Array): Promise<void>;
  chunk(blobId: string, index: number): Promise<Uint8Array | undefined>;
  /** Removes the given blobs that never became a version; returns their number. */
  discard(blobIds: readonly string[]): Promise<number>;
  /**
   * Removes at most `atMost` chunks of blobs that were staged before `timestamp` and never became a
   * version, or whose version was removed; returns whether there are more.
   */
  discardStale(timestamp: number, atMost: number): Promise<boolean>;
}

import type { FileVersion, StoredFile } from "../records.ts";

export interface FileTable {
  find(owner: string, name: string): Promise<StoredFile | undefined>;
  insert(file: StoredFile): Promise<void>;
  update(file: StoredFile): Promise<void>;
  /** Inserts a version whose blob was staged, which is then no longer discarded as stale. */
  insertVersion(fileId: string, version: FileVersion): Promise<void>;
  version(fileId: string, version: number): Promise<FileVersion | undefined>;
  latest(fileId: string): Promise<FileVersion | undefined>;
  /** Returns the numbers of all versions in ascending order. */
  versions(fileId: string): Promise<number[]>;
  /** Returns the owner's files by name in code point order, with their versions in ascending order. */
  list(owner: string): Promise<{ file: StoredFile; versions: FileVersion[] }[]>;
  /** Removes a version with its bytes. */
  removeVersion(fileId: string, version: number): Promise<void>;
  /** Removes a file with its versions and their bytes. */
  remove(fileId: string): Promise<void>;
  /** Registers a blob whose chunks follow. */
  stage(blobId: string, now: number): Promise<void>;
  putChunk(blobId: string, index: number, sealed: Uint8Array): Promise<void>;
  chunk(blobId: string, index: number): Promise<Uint8Array | undefined>;
  /** Removes those of these blobs that never became a version; returns their number. */
  discard(blobIds: readonly string[]): Promise<number>;
  /** Removes blobs staged before `timestamp` that never became a version; returns their number. */
  discardStagedBefore(timestamp: number): Promise<number>;
}

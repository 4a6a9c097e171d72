import type { Envelope } from "../../crypto/envelope.ts";
import type { Secret, StoredFile } from "../records.ts";

/**
 * Secrets and files that another user takes over. Secrets past their deadline stay with their owner
 * and are removed there.
 */
export interface HandOverTable {
  /** Returns at most `atMost` secrets of an owner after one, in the order of their ids. */
  secrets(owner: string, now: number, after: string, atMost: number): Promise<Secret[]>;
  /** Returns at most `atMost` files of an owner after one, in the order of their ids. */
  files(owner: string, after: string, atMost: number): Promise<StoredFile[]>;
  /** Returns the names of secrets or files that both users have, in code point order. */
  collisions(kind: "secret" | "file", from: string, to: string, now: number): Promise<string[]>;
  hasName(kind: "secret" | "file", owner: string, name: string, now: number): Promise<boolean>;
  /**
   * Changes owner and name; values and digests that are sealed for the former ones are replaced in
   * the same transaction.
   */
  moveSecret(secretId: string, owner: string, name: string): Promise<void>;
  moveFile(fileId: string, owner: string, name: string): Promise<void>;
  replaceValue(secretId: string, version: number, value: Envelope): Promise<void>;
  replaceDigest(fileId: string, version: number, digest: Envelope): Promise<void>;
}

import type { Envelope } from "../../crypto/envelope.ts";
import type { ListedSecret, NamedAccess, Secret, SecretVersion } from "../records.ts";

/** Maximum number of secrets read in one transaction: a long list does not delay other requests. */
export const LIST_PAGE_SIZE = 500;

/** A secret of the user's own, with the value of its newest version. */
interface OwnSecret {
  readonly access: NamedAccess;
  readonly value: Envelope;
}

/** Size of a secret, counted up to a number of rows. */
interface SecretSize {
  /** Number of versions and grants. */
  readonly rows: number;
  /** Bytes of values and metadata of the counted versions. */
  readonly bytes: number;
}

/** A secret to remove. */
interface DueSecret {
  readonly id: string;
  /** It was retired; otherwise its deadline has passed. */
  readonly retired: boolean;
}

export interface SecretTable {
  /**
   * Returns the user's own secret of this name with its value, in one statement. Returns
   * `undefined` also after its newest version was deleted or its deadline has passed:
   * `accessByName` finds what is left.
   */
  ownByName(email: string, name: string, now: number): Promise<OwnSecret | undefined>;
  /**
   * Returns the user's access to the own secret of this name, as `accessByName` does. A write that
   * needs no other secret of this name does not conflict with writes of such secrets then.
   */
  ownAccess(email: string, name: string, now: number): Promise<NamedAccess | undefined>;
  /**
   * Returns the user's access to every secret of this name, by owner in code point order; secrets
   * past their deadline are omitted.
   */
  accessByName(email: string, name: string, now: number): Promise<NamedAccess[]>;
  /**
   * Returns the ids of all secrets the user has access to, by name, then owner, in code point
   * order; without those past their deadline.
   */
  listIds(email: string, now: number): Promise<string[]>;
  /**
   * Returns the user's access to at most `LIST_PAGE_SIZE` secrets, without secrets they no longer
   * have, in the order of `listIds`.
   */
  accessByIds(email: string, ids: readonly string[], now: number): Promise<ListedSecret[]>;
  /**
   * Returns the bytes of the metadata, plus a sixteenth of the bytes of the value, of the latest
   * version of each of at most `LIST_PAGE_SIZE` secrets in a user's list, without reading them.
   */
  metadataLengths(
    email: string,
    ids: readonly string[],
    now: number,
  ): Promise<ReadonlyMap<string, number>>;
  insert(secret: Secret): Promise<void>;
  /** Updates the next version and the deadline. */
  update(secret: Secret): Promise<void>;
  insertVersion(secretId: string, version: SecretVersion, value: Envelope): Promise<void>;
  /** Returns at most `atMost` versions after a number, in ascending order. */
  versions(secretId: string, after: number, atMost: number): Promise<SecretVersion[]>;
  countVersions(secretId: string): Promise<number>;
  version(secretId: string, version: number): Promise<SecretVersion | undefined>;
  latest(secretId: string): Promise<SecretVersion | undefined>;
  /** Updates the metadata and its time of change. */
  updateVersion(secretId: string, version: SecretVersion): Promise<void>;
  removeVersion(secretId: string, version: number): Promise<void>;
  value(secretId: string, version: number): Promise<Envelope | undefined>;
  /** Counts at most `atMost` versions, and as many grants of each kind. */
  sizeUpTo(secretId: string, atMost: number): Promise<SecretSize>;
  /**
   * Removes a secret for all users and frees its name; its versions and grants stay until `due`
   * names it. The time does not depend on their number.
   */
  retire(secretId: string): Promise<void>;
  /** Removes a secret with its versions and grants. */
  remove(secretId: string): Promise<void>;
  /** Removes all secrets of one owner with their versions and grants. */
  removeOf(owner: string): Promise<void>;
  /**
   * Removes at most `atMost` versions of a secret, to split a long removal; returns their number.
   */
  removeVersions(secretId: string, atMost: number): Promise<number>;
  /**
   * Removes at most `atMost` grants, dismissals and consumers, to split a long removal; returns
   * their number.
   */
  removeGrants(secretId: string, atMost: number): Promise<number>;
  /** Returns at most `atMost` retired secrets, and secrets whose deadline has passed. */
  due(now: number, atMost: number): Promise<DueSecret[]>;
  /** Returns the id of a secret of this name whose deadline has passed. */
  dueNamed(owner: string, name: string, now: number): Promise<string | undefined>;
}

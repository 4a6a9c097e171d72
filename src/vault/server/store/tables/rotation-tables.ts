import type { Cell } from "./raw-tables.ts";
import type { WrappedKey } from "../../crypto/master-key.ts";
import type { WrappedRecord } from "../records.ts";

/** The tables whose rows decide who reads a value. */
export const rightNames = [
  "users",
  "refresh_tokens",
  "access_tokens",
  "sessions",
  "email_proofs",
  "teams",
  "team_members",
  "person_grants",
  "team_grants",
  "identities",
] as const;
export type RightName = (typeof rightNames)[number];

/** A row with what its MAC covers. */
export interface RightRow {
  readonly table: RightName;
  /** Values of the primary key. */
  readonly key: readonly Cell[];
  readonly fields: readonly (string | number)[];
  /** Id of a master key and an HMAC (`RowMacs`); empty in data of a release without MACs. */
  readonly mac: string;
}

/**
 * The rows of all these tables, independent of their meaning: to seal them at an upgrade and again
 * at a rotation of the master key.
 */
export interface RightTable {
  /**
   * Returns the rows that have no MAC of this master key, in the order of the key, starting after
   * one.
   */
  otherThan(
    table: RightName,
    masterKeyId: string,
    after: RightRow | undefined,
    atMost: number,
  ): Promise<RightRow[]>;
  /**
   * Replaces the MAC; returns false, and changes nothing, when the stored one differs from the one
   * of `row`.
   */
  setMac(row: RightRow, mac: string): Promise<boolean>;
}

/** All data keys that master keys wrap, across the tables: the input of a rotation. */
export interface WrappedKeyTable {
  /**
   * Returns versions whose data key is wrapped by a master key other than this one, in a fixed
   * order, starting after `after`.
   */
  otherThan(
    kind: WrappedRecord["kind"],
    masterKeyId: string,
    after: WrappedRecord | undefined,
    atMost: number,
  ): Promise<WrappedRecord[]>;
  /**
   * Returns false, and changes nothing, when the version is gone or its wrapped key differs from
   * the key of `record`.
   */
  replace(record: WrappedRecord, key: WrappedKey): Promise<boolean>;
  countOtherThan(masterKeyId: string): Promise<number>;
  /**
   * Returns the ids of all master keys that wrap data keys, in time that does not depend on the
   * number of records.
   */
  masterKeyIds(): Promise<string[]>;
  /** Returns the number of records whose data key this master key wraps. */
  countOf(masterKeyId: string): Promise<number>;
}

import type { Cell } from "./raw-tables.ts";

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

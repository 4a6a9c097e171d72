import type { Consumer, EntryKind } from "../records.ts";

/** A row is written at most once in this time for one version, in milliseconds. */
export const WRITE_INTERVAL_MS = 60_000;

/**
 * The resources that read an entry, one row for each account that names one. The rows are removed with their entry, and
 * with the account that read.
 */
export interface ConsumerTable {
  /**
   * Records a read, unless a later one of the consumer by its account is recorded, or the same version within the
   * minute before. Keeps `keep` consumers of the entry, the newest ones of each account alike: one
   * account does not replace the consumers of another. Does nothing without the entry or the
   * account.
   */
  record(kind: EntryKind, entryId: string, read: Consumer, keep: number): Promise<void>;
  /** Returns the consumers of an entry, the newest read first. */
  list(kind: EntryKind, entryId: string): Promise<Consumer[]>;
  /** Removes at most `atMost` of each kind; returns their number. */
  removeBefore(timestamp: number, atMost: number): Promise<number>;
}

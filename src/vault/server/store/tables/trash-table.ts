import type { Usage } from "./account-tables.ts";

/** Kinds of records in the trash. */
export const trashKinds = ["secret", "file"] as const;
export type TrashKind = (typeof trashKinds)[number];

/** A deleted secret or file that can be restored. Times are milliseconds since the epoch. */
export interface TrashEntry {
  readonly kind: TrashKind;
  readonly id: string;
  readonly owner: string;
  /** Name before the deletion; another one may have it now. */
  readonly name: string;
  readonly trashedAt: number;
  /** Time of its permanent removal. */
  readonly endsAt: number;
}

/** An entry of a list. */
export interface ListedEntry extends TrashEntry {
  /** Number of the latest version. */
  readonly version: number;
  /** Bytes of the latest version of a file; 0 for a secret. */
  readonly size: number;
}

/** An entry with its part of the amounts that the account has stored. */
export interface SizedEntry extends Usage {
  readonly kind: TrashKind;
  readonly id: string;
}

/** An entry that has ended, or a retired file. */
interface EndedEntry extends Pick<TrashEntry, "kind" | "id"> {
  readonly retired: boolean;
}

export interface TrashTable {
  /**
   * Moves a secret or file to the trash with versions and grants: it is gone for all users and for
   * every other table, and its name is free. A secret ends no later than at its deadline.
   */
  put(kind: TrashKind, id: string, trashedAt: number, endsAt: number): Promise<void>;
  /** Moves an entry back under a name that is free; values and grants must be sealed for it. */
  restore(kind: TrashKind, id: string, name: string): Promise<void>;
  /** Returns the entry that ends after `now`. */
  find(owner: string, id: string, now: number): Promise<TrashEntry | undefined>;
  /**
   * Returns at most `atMost` entries of one kind that end after `now`, the newest first, starting
   * after one.
   */
  list(
    kind: TrashKind,
    owner: string,
    after: Pick<TrashEntry, "trashedAt" | "id"> | undefined,
    now: number,
    atMost: number,
  ): Promise<ListedEntry[]>;
  /** Returns what an account has in the trash. */
  usage(owner: string): Promise<Usage & { readonly files: number }>;
  /** Returns at most `atMost` entries of an account, the oldest first. */
  oldest(owner: string, atMost: number): Promise<SizedEntry[]>;
  /** Returns at most `atMost` entries of all accounts, those with most bytes first. */
  largest(atMost: number): Promise<SizedEntry[]>;
  /**
   * Returns at most `atMost` retired files and entries that have ended. No other method returns a
   * retired file.
   */
  ended(now: number, atMost: number): Promise<EndedEntry[]>;
}

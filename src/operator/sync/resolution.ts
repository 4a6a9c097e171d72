import type { Redacted } from "../../lib/redacted.ts";
import type { SyncItem } from "./sync-resource.ts";
import type { SyncedKey } from "./target.ts";

/** The bytes of one version of an entry of the vault. */
interface FetchedBytes {
  readonly bytes: Redacted<Uint8Array>;
  /** Version of the bytes according to the vault. */
  readonly version: number;
}

/**
 * An entry of the vault's list that matches the name of an item. Timestamps are in milliseconds
 * since the epoch, sizes in bytes.
 */
export interface Candidate {
  /** `vaultId` of the vault that lists it. */
  readonly vault: string;
  readonly owner: string | undefined;
  /** Created by the account of the connection itself. */
  readonly own: boolean;
  /** Neither `spec.trustedOwners` of the connection nor the item names its owner. */
  readonly untrusted?: boolean | undefined;
  readonly latest: number;
  /** Sizes of the existing versions; `undefined` if the list does not contain them. */
  readonly sizes: ReadonlyMap<number, number> | undefined;
  /**
   * Creation times of versions, as far as listed. An entry that was deleted and recreated has the
   * same versions with other bytes.
   */
  readonly createdAt?: ReadonlyMap<number, number> | undefined;
  readonly expiresAt: number | undefined;
  readonly deleteAt: number | undefined;
  /** Reads the bytes of one version from the vault. */
  readonly read: (version: number, signal: AbortSignal) => Promise<FetchedBytes>;
}

/** Why a target does not follow the latest version of an item yet. */
export interface Gate {
  readonly reason: "Held" | "Frozen" | "AwaitingApproval" | "OutsideWindow" | "RefreshInterval";
  /** The version that is served instead; `undefined`: the one that the target has. */
  readonly version?: number | undefined;
  /** Time in milliseconds after which the gate opens by itself. */
  readonly opensInMs?: number | undefined;
  /** Names what opens it, for a message. */
  readonly until?: string | undefined;
  /** Digest of the versions that a user has to approve. */
  readonly digest?: string | undefined;
}

/** State of an item from earlier reconciles. */
export interface Remembered {
  /** Origin of the bytes that the target contains under the key of the item. */
  readonly synced: SyncedKey | undefined;
  /**
   * Version that the target had last, according to the status, even if the target was deleted
   * since.
   */
  readonly served?: number | undefined;
  /** Neither the target nor the incomplete status says whether the target had bytes of it. */
  readonly isOmitted?: boolean | undefined;
  /** Owner of that version according to the status. */
  readonly servedOwner?: string | undefined;
  /**
   * Time in milliseconds for which newer versions are not followed, because of
   * `spec.refreshInterval`.
   */
  readonly refreshInMs?: number | undefined;
  /** The gate that keeps all items of the resource from following newer versions. */
  readonly updates?: Gate | undefined;
  /** The target has bytes of some item, or had them last. */
  readonly hasTarget?: boolean | undefined;
  /**
   * According to the last status or their source, those bytes belong to an entry of the same name.
   */
  readonly sameName?: boolean | undefined;
  /** Those bytes are from another vault. */
  readonly isOfOtherVault?: boolean | undefined;
  /** The target has no bytes under the key, and a former one has bytes of the source. */
  readonly isInFormer?: boolean | undefined;
  /**
   * The `delete_time` of the source according to the last list of this connection that contained
   * it.
   */
  readonly deleteAt: number | undefined;
  /** Arrival time of the first list without the source, if it is not listed. */
  readonly missingSince: number;
  /** Time in milliseconds for which the name must still be missing to prove its deletion. */
  readonly provenInMs?: number | undefined;
  /** The list has an entry of the name that the rule which found it does not match any more. */
  readonly isListed?: boolean | undefined;
  /**
   * The list lacks the entry that the item refers to, or its metadata. Entries of the name by other
   * owners do not count.
   */
  readonly isGone?: boolean | undefined;
  /** The owner of that entry, for a message: another owner's entry of the name is listed. */
  readonly ofOwner?: string | undefined;
  /** The list, for a message: "the list of ops@example.com". */
  readonly list?: string | undefined;
  /** Another listed name, nearly the same as the name of the source. */
  readonly near?: string | undefined;
  /** All removals of the connection are held. */
  readonly held?: boolean | undefined;
  /** Returns the `sourceId`s of the entry that the item refers to. */
  readonly sources?: (() => ReadonlySet<string>) | undefined;
}

/**
 * The state of the removal of a key whose entry is gone. `due`: now; `awaited`: when further lists
 * have proven that it is gone; `held`: when a user has confirmed it, because too many entries are
 * gone; `undefined`: never.
 */
type Deletion = "due" | "awaited" | "held" | undefined;

/** The entry and version that an item refers to, or the reason why there is none. */
export type Resolution =
  | {
      readonly state: "found";
      readonly item: SyncItem;
      readonly candidate: Candidate;
      readonly version: number;
      /** Why it is not the latest version. */
      readonly gate?: Gate | undefined;
      /** The entry was deleted and recreated since, with other bytes that the gate keeps away. */
      readonly isRecreated?: boolean;
      /** The entry that is gone and whose key this one gets. */
      readonly replaces?: Resolution;
    }
  /**
   * Found, but the target has bytes of another entry under its key, or none, and a gate keeps it
   * from what is not a newer version of them.
   */
  | {
      readonly state: "withheld";
      readonly item: SyncItem;
      readonly candidate: Candidate;
      readonly gate: Gate;
      readonly hasBytes: boolean;
    }
  | {
      readonly state: "removed";
      readonly item: SyncItem;
      readonly deleteAt: number;
      readonly deletion?: Deletion;
      readonly isOverdue?: boolean;
      /** The target has nothing of it under the key of the item. */
      readonly isAbsent?: boolean;
      /** Its `sourceId`s, whose bytes leave the target under any key. */
      readonly sources?: ReadonlySet<string> | undefined;
      /** The listed name that gets its key when that is removed. */
      readonly successor?: string | undefined;
    }
  | {
      readonly state: "missing";
      readonly item: SyncItem;
      readonly deletion?: Deletion;
      /**
       * The deletion no longer waits for sources that the vault does not serve now; see {@link
       * REMOVAL_WAIT_MS}.
       */
      readonly isOverdue?: boolean;
      /** Time in milliseconds until an awaited deletion may be due. */
      readonly provenInMs?: number | undefined;
      /** Listed, but without the metadata that the rule which found it requests. */
      readonly isListed?: boolean | undefined;
      /** Deadline of that entry, if the key is removed then. */
      readonly deleteAt?: number | undefined;
      /** A stranger's entry of the name is listed: it is reported when the key is gone. */
      readonly namesake?: Pick<Candidate, "owner"> | undefined;
      readonly ofOwner?: string | undefined;
      readonly list?: string | undefined;
      readonly near?: string | undefined;
      /** The target has nothing of it: an awaited deletion would change nothing. */
      readonly isAbsent?: boolean;
      /** The target has bytes of another vault, whose deletion is awaited. */
      readonly isOfOtherVault?: boolean | undefined;
      /** Only a former target has its bytes, whose deletion is awaited. */
      readonly isInFormer?: boolean | undefined;
      /** As for `removed`. */
      readonly successor?: string | undefined;
      /** There is no previous version: the key leaves when the one of the latest version follows. */
      readonly isBelowFirst?: true;
    }
  /**
   * Listed, but only from owners whom neither the connection nor the item names. `deleteAt`:
   * deadline of the entry whose bytes the target has.
   */
  | {
      readonly state: "untrusted";
      readonly item: SyncItem;
      readonly owner: string | undefined;
      readonly deleteAt?: number | undefined;
    }
  /** Found, but without a key: `why` is the reason. The item is omitted. */
  | { readonly state: "unusable"; readonly item: SyncItem; readonly why: string }
  /**
   * A rule that finds no entry. `strangers` shared what it would find if the connection named them,
   * as far as asked.
   */
  | { readonly state: "unmatched"; readonly item: SyncItem; readonly strangers?: readonly string[] }
  | { readonly state: "ambiguous"; readonly item: SyncItem; readonly owners: readonly string[] }
  | { readonly state: "other-owner"; readonly item: SyncItem; readonly candidate: Candidate }
  | {
      readonly state: "no-version";
      readonly item: SyncItem;
      readonly candidate: Candidate;
      readonly version: number;
      /**
       * A hold requests the version: by its number, or as what the target has of another vault.
       * `with-latest`: the previous one waits with the latest one for a gate of the resource.
       */
      readonly held?: "named" | "other-vault" | "with-latest";
    }
  | {
      readonly state: "regressed";
      readonly item: SyncItem;
      readonly candidate: Candidate;
      readonly syncedVersion: number;
    };

/** Returns the entry that is gone and whose key another one gets. */
export const replacedBy = (one: Resolution): Resolution | undefined =>
  one.state === "found" ? one.replaces : undefined;

/**
 * Returns the deadline of the entry that an item refers to. The deadline of another owner's entry
 * says nothing about the bytes of the target.
 */
export function deadlineOf(resolution: Resolution): number | undefined {
  if (resolution.state === "other-owner" || resolution.state === "withheld") return undefined;
  return "candidate" in resolution
    ? resolution.candidate.deleteAt
    : "deleteAt" in resolution
      ? resolution.deleteAt
      : undefined;
}

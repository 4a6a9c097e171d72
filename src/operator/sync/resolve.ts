import { hasOwner } from "../api/received-secrets.ts";
import type { Redacted } from "../../lib/redacted.ts";
import { closedGate, type Gate } from "./gate.ts";
import { resolveGone } from "./resolve-gone.ts";
import { isAccepted, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { isFromVault, sameCreation, type SyncedKey, sourceId } from "./target.ts";

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

/** State of an item from earlier reconciles. */
export interface Remembered {
  /** Origin of the bytes that the target contains under the key of the item. */
  readonly synced: SyncedKey | undefined;
  /**
   * Version that the target had last, according to the status, even if the target was deleted
   * since.
   */
  readonly served?: number | undefined;
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
      /** The target has nothing of it. */
      readonly isAbsent?: boolean;
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
      /** A hold requests the version: by its number, or as what the target has of another vault. */
      readonly held?: "named" | "other-vault";
    }
  | {
      readonly state: "regressed";
      readonly item: SyncItem;
      readonly candidate: Candidate;
      readonly syncedVersion: number;
    };

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

/**
 * Prefers an own entry over shared ones of the same name, then the entry that was served: no other
 * user can break a resource by sharing a secret with it. `keepsServed`: a gate keeps the target from
 * another entry.
 */
function choose(
  matching: readonly Candidate[],
  isServed: (candidate: Candidate) => boolean,
  keepsServed: boolean,
): Candidate | "none" | "several" {
  const [only, another] = matching;
  if (only === undefined) return "none";
  if (another === undefined) return only;
  const own = matching.find((candidate) => candidate.own);
  const served = matching.find(isServed);
  return (keepsServed ? (served ?? own) : (own ?? served)) ?? "several";
}

const hasSource = (item: SyncItem, { vault, owner }: Candidate, synced: SyncedKey): boolean =>
  synced.source === sourceId(vault, item.source, owner);

/**
 * Returns which version of which entry of the vault an item refers to. Pure and total. "Removed"
 * requires evidence: the entry was listed until its own deadline, and no list before it lacked the
 * entry; otherwise it is "missing", whatever happens later. A `latest` below the synced version is
 * "regressed" and only followed if a user accepted it; see docs/design/engine.md#removals.
 */
export function resolveItem(
  resource: SyncResource,
  item: SyncItem,
  candidates: readonly Candidate[],
  remembered: Remembered,
  now: number,
): Resolution {
  const { synced, servedOwner } = remembered;
  const matching = candidates.filter(
    (one) => item.owner === undefined || hasOwner(one, item.owner),
  );
  const trusted = matching.filter(({ untrusted = false }) => !untrusted);
  const isSynced = (one: Candidate): boolean =>
    synced !== undefined && hasSource(item, one, synced);
  const served = matching.find(isSynced);
  const untrusted = served ?? matching[0];
  if (trusted.length === 0 && untrusted !== undefined && remembered.isGone !== true)
    return { state: "untrusted", item, owner: untrusted.owner, deleteAt: served?.deleteAt };
  const gate = gateOf(resource, item, remembered);
  const chosen = choose(
    trusted,
    (one) => (synced === undefined ? hasOwner(one, servedOwner) : isSynced(one)),
    keepsEntry(gate),
  );
  if (chosen === "several")
    return { state: "ambiguous", item, owners: trusted.map(({ owner }) => owner ?? "?") };
  if (chosen === "none") {
    const gone = resolveGone(resource, item, remembered, now);
    return gone.state === "missing" ? { ...gone, namesake: untrusted } : gone;
  }
  if (isReplacement(item, chosen, remembered))
    return { state: "other-owner", item, candidate: chosen };
  if (item.version !== "latest") return resolvePinned(item, item.version, chosen);
  const withheld = resolveWithheld(resource, item, chosen, gate, remembered, now);
  return withheld ?? resolveLatest(resource, item, chosen, gate, remembered);
}

/** Reports whether a gate keeps the entry that was served, also if another one comes first. */
const keepsEntry = (gate: Gate | undefined): boolean =>
  gate !== undefined && gate.reason !== "RefreshInterval";

/** Returns the gate of an item; a version that the spec pins has none. */
function gateOf(
  resource: SyncResource,
  item: SyncItem,
  { updates, refreshInMs = 0, synced }: Remembered,
): Gate | undefined {
  if (item.version !== "latest") return undefined;
  return closedGate(resource, item, { updates, refreshInMs, hasBytes: synced !== undefined });
}

/** Reports whether a gate keeps all items of a resource, unless a user accepts a version. */
const isOfResource = ({ reason }: Gate): boolean =>
  reason !== "Held" && reason !== "RefreshInterval";

/** Reports whether a user accepts the latest version of an item, whatever the gate of the resource. */
const isOpened = (
  gate: Gate,
  resource: SyncResource,
  item: SyncItem,
  { latest }: Candidate,
): boolean => isOfResource(gate) && isAccepted(resource, item, latest);

/**
 * Returns the state of an item whose entry is not the one of the bytes under its key, or whose key
 * the target lacks, while the gate of the whole resource is closed; `undefined` if there is nothing
 * to withhold. The first value of a key that the spec requires is never withheld, nor is what
 * becomes of bytes whose entry is gone.
 */
function resolveWithheld(
  resource: SyncResource,
  item: SyncItem,
  candidate: Candidate,
  gate: Gate | undefined,
  remembered: Remembered,
  now: number,
): Resolution | undefined {
  if (gate === undefined || !isOfResource(gate) || isOpened(gate, resource, item, candidate))
    return undefined;
  const { synced, isGone } = remembered;
  const withheld = { state: "withheld", item, candidate, gate } as const;
  if (synced === undefined)
    return isAddition(item, remembered) ? { ...withheld, hasBytes: false } : undefined;
  if (hasSource(item, candidate, synced) || !isSameSource(item, remembered)) return undefined;
  const gone = isGone === true ? resolveGone(resource, item, remembered, now) : undefined;
  const isDue = gone !== undefined && "deletion" in gone && gone.deletion !== undefined;
  return isDue ? gone : { ...withheld, hasBytes: true };
}

/** Reports whether the vault, and not the spec, would add the key of an item to a target. */
const isAddition = (item: SyncItem, { served, hasTarget }: Remembered): boolean =>
  served === undefined &&
  hasTarget === true &&
  (item.foundBy !== undefined || item.isOptional === true);

/** Reports whether the spec requested the bytes under the key of an item as it does now. */
const isSameSource = (item: SyncItem, { sameName, isOfOtherVault }: Remembered): boolean =>
  item.foundBy !== undefined || sameName === true || isOfOtherVault === true;

/**
 * Reports whether the served entry is gone and another user shares one of the same name. It must
 * not replace the served entry without consent.
 */
function isReplacement(
  item: SyncItem,
  candidate: Candidate,
  { synced, sameName, servedOwner }: Remembered,
): boolean {
  if (item.owner !== undefined || candidate.own) return false;
  if (synced === undefined) return servedOwner !== undefined && !hasOwner(candidate, servedOwner);
  const isOther = !hasSource(item, candidate, synced) && isFromVault(synced, candidate.vault);
  return isOther && sameName === true;
}

/** Reports whether the list does not rule out that the vault has a version. */
const hasVersion = ({ sizes, latest }: Candidate, version: number): boolean =>
  sizes === undefined ? version <= latest : sizes.has(version);

function resolvePinned(item: SyncItem, version: number, candidate: Candidate): Resolution {
  const state = hasVersion(candidate, version) ? "found" : "no-version";
  return { state, item, candidate, version };
}

/**
 * Returns the version that a hold keeps: the one that it names, also an older one; `undefined` if it
 * names none. Bytes of another vault have a version of that vault: they are kept.
 */
function resolveHeld(
  item: SyncItem,
  candidate: Candidate,
  { reason, version }: Gate,
  { synced, isOfOtherVault }: Remembered,
): Resolution | undefined {
  if (version === undefined) {
    if (reason !== "Held" || synced === undefined || isOfOtherVault !== true) return undefined;
    return { state: "no-version", item, candidate, version: synced.version, held: "other-vault" };
  }
  const isServed =
    synced !== undefined && synced.version === version && hasSource(item, candidate, synced);
  if (!isServed && !hasVersion(candidate, version))
    return { state: "no-version", item, candidate, version, held: "named" };
  return { state: "found", item, candidate, version, gate: { reason, version } };
}

function resolveLatest(
  resource: SyncResource,
  item: SyncItem,
  candidate: Candidate,
  gate: Gate | undefined,
  remembered: Remembered,
): Resolution {
  const { latest } = candidate;
  const held = gate && resolveHeld(item, candidate, gate, remembered);
  if (held !== undefined) return held;
  const before = earlierVersion(item, candidate, remembered);
  if (before !== undefined && before > latest && !isAccepted(resource, item, latest))
    return { state: "regressed", item, candidate, syncedVersion: before };
  const kept = gate && resolveKept(resource, item, candidate, gate, before, remembered);
  return kept ?? { state: "found", item, candidate, version: latest };
}

/** Returns the version before that a gate keeps; `undefined` if there is nothing newer. */
function resolveKept(
  resource: SyncResource,
  item: SyncItem,
  candidate: Candidate,
  gate: Gate,
  before: number | undefined,
  remembered: Remembered,
): Resolution | undefined {
  const { latest } = candidate;
  if (before === undefined || before > latest || isOpened(gate, resource, item, candidate))
    return undefined;
  const found = { state: "found", item, version: before, gate } as const;
  const isRecreated = keepsEntry(gate) && !isSameCreation(candidate, before, remembered);
  // Its bytes are other ones, whatever their version.
  if (isRecreated)
    return { ...found, candidate: { ...candidate, createdAt: undefined }, isRecreated };
  return before < latest ? { ...found, candidate } : undefined;
}

/** Reports whether the entry of the bytes that the target has is not a deleted and recreated one. */
const isSameCreation = (
  { createdAt }: Candidate,
  version: number,
  { synced }: Remembered,
): boolean => synced === undefined || sameCreation(synced.createdAt, createdAt?.get(version));

/**
 * Returns the version of this entry in the target or, without a target, in the status. The version
 * of another owner's entry says nothing about this one.
 */
function earlierVersion(
  item: SyncItem,
  candidate: Candidate,
  { synced, served, servedOwner }: Remembered,
): number | undefined {
  if (synced !== undefined) return hasSource(item, candidate, synced) ? synced.version : undefined;
  const isOtherOwner =
    servedOwner !== undefined && candidate.owner !== undefined && !hasOwner(candidate, servedOwner);
  return isOtherOwner ? undefined : served;
}

import { hasOwner } from "../api/received-secrets.ts";
import { closedGate } from "./gate.ts";
import { resolveGone } from "./resolve-gone.ts";
import type { Candidate, Gate, Remembered, Resolution } from "./resolution.ts";
import { isAccepted, isFollowing, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { isFromVault, sameCreation, type SyncedKey, sourceId } from "./target.ts";

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
  if (typeof item.version === "number") return resolvePinned(item, item.version, chosen);
  const withheld = resolveWithheld(resource, item, chosen, remembered, now);
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
  if (!isFollowing(item)) return undefined;
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

/** Reports whether a hold says what becomes of an item, whatever the gate of the resource. */
const isHeld = (
  { hold }: SyncResource,
  { id }: SyncItem,
  { isOfOtherVault }: Remembered,
): boolean => hold !== undefined && (hold.versions.has(id) || isOfOtherVault === true);

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
  remembered: Remembered,
  now: number,
): Resolution | undefined {
  const { updates: gate } = remembered;
  if (gate === undefined || isHeld(resource, item, remembered)) return undefined;
  if (isOpened(gate, resource, item, candidate)) return undefined;
  const { synced } = remembered;
  const withheld = { state: "withheld", item, candidate, gate } as const;
  if (synced === undefined)
    return isAddition(item, remembered) ? { ...withheld, hasBytes: false } : undefined;
  if (hasSource(item, candidate, synced) || !isSameSource(item, remembered)) return undefined;
  const gone = hasLostEntry(remembered) ? resolveGone(resource, item, remembered, now) : undefined;
  const isDue = gone !== undefined && "deletion" in gone && gone.deletion !== undefined;
  return isDue ? gone : { ...withheld, hasBytes: true };
}

/**
 * Reports whether the entry of the bytes is gone from their vault. The list of another vault does
 * not say that.
 */
const hasLostEntry = ({ isGone, isOfOtherVault }: Remembered): boolean =>
  isGone === true && isOfOtherVault !== true;

/** Reports whether the vault, and not the spec, would add the key of an item to a target. */
const isAddition = (item: SyncItem, { served, isOmitted, hasTarget }: Remembered): boolean =>
  served === undefined &&
  isOmitted !== true &&
  hasTarget === true &&
  (item.foundBy !== undefined || item.isOptional === true);

/** Reports whether the spec requested the bytes under the key of an item as it does now. */
export const isSameSource = (item: SyncItem, { sameName, isOfOtherVault }: Remembered): boolean =>
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
  remembered: Remembered,
): Resolution | undefined {
  const { synced, isOfOtherVault } = remembered;
  if (version === undefined) {
    if (reason !== "Held" || synced === undefined || isOfOtherVault !== true) return undefined;
    return { state: "no-version", item, candidate, version: synced.version, held: "other-vault" };
  }
  const isServed =
    synced !== undefined && synced.version === version && hasSource(item, candidate, synced);
  if (!isServed && !hasVersion(candidate, version))
    return { state: "no-version", item, candidate, version, held: "named" };
  const found = { state: "found", item, version, gate: { reason, version } } as const;
  return isServed && !isSameCreation(candidate, version, remembered)
    ? { ...found, ...ofFormerEntry(candidate) }
    : { ...found, candidate };
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
  if (keepsEntry(gate) && !isSameCreation(candidate, before, remembered))
    return { ...found, ...ofFormerEntry(candidate) };
  return before < latest ? { ...found, candidate } : undefined;
}

/**
 * Returns what keeps the bytes of an entry that was deleted and recreated: the new one has other
 * bytes, whatever their version.
 */
const ofFormerEntry = (candidate: Candidate) =>
  ({ candidate: { ...candidate, createdAt: undefined }, isRecreated: true }) as const;

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

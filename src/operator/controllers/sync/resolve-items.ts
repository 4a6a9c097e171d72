import { findCondition } from "../../api/conditions.ts";
import { followsLists } from "../../api/reasons.ts";
import { isDropped } from "../../sync/gone-claims.ts";
import { versionsDigest } from "../../sync/gate.ts";
import type { Candidate, Remembered, Resolution } from "../../sync/resolution.ts";
import { isSameSource, resolveItem } from "../../sync/resolve.ts";
import { type KeptBytes, resolvePrevious } from "../../sync/resolve-previous.ts";
import { metadataRule, unfound } from "../../sync/find-items.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import type { Report } from "../../sync/report.ts";
import { earlierItem, isOmitted } from "../../sync/stored-status.ts";
import { hasFormerKeys, refreshInMs, updateGate } from "../../sync/update-gate.ts";
import { hasOwner, namedOwners } from "../../api/received-secrets.ts";
import {
  entryIds,
  idsOfEntries,
  isFromVault,
  ownClaims,
  sourceId,
  type SyncedKey,
} from "../../sync/target.ts";
import { isOfItem, isOfName } from "./bytes-of-item.ts";
import { servedVersion } from "./reported-versions.ts";
import { deadlineKey } from "./resource-memory.ts";
import type { EntryFilter } from "./source-kind.ts";
import type { Observed } from "./stages.ts";
import { unconfirmedItems } from "./unconfirmed-items.ts";

/** An item, the entries of its name that are listed, and what is known of its bytes. */
interface Known {
  readonly item: SyncItem;
  readonly candidates: readonly Candidate[];
  readonly remembered: Remembered;
}

/**
 * Reports whether the target has a key whose removal is due, and that another name may get. A value
 * that does not come keeps no bytes much longer than their deadline.
 */
const leavesKey = (one: Resolution, { synced }: Remembered): boolean =>
  isDropped(one) && synced !== undefined && !(one.state === "removed" && one.isOverdue === true);

/**
 * Returns the entry and version of the vault that each item refers to, given what this target has
 * and what was listed before.
 */
export function resolveItems(input: Observed): Resolution[] {
  const { source, resource, access, snapshot, now, successors } = input;
  const deadlines = new Map<string, number>(JSON.parse(input.deadlines?.ofItems ?? "[]"));
  const knownOf = (item: SyncItem): Known => ({
    item,
    candidates: source.candidates(snapshot, item, access, resource),
    remembered: rememberedOf(input, deadlines, item),
  });
  const known = resource.items.map(knownOf);
  const keptOf = (item: SyncItem): KeptBytes => {
    const remembered = known.find((one) => one.item === item)?.remembered;
    if (remembered?.synced === undefined) return "none";
    return isSameSource(item, remembered) ? "of-source" : "of-other";
  };
  // The bytes of any item may begin a hold of all.
  const held = access.removals.held > 0;
  const resolveOne = (
    { item, candidates, remembered }: Known,
    gate: Partial<Remembered>,
  ): Resolution => {
    const own = resolveItem(resource, item, candidates, { ...remembered, held, ...gate }, now);
    const successor = successors.get(item);
    const isGone = own.state === "missing" || own.state === "removed";
    if (successor === undefined || !isGone) return own;
    if (!leavesKey(own, remembered)) return { ...own, successor: successor.source };
    const next = resolveOne(knownOf(successor), gate);
    // What a gate keeps away keeps no bytes that are to be removed.
    return next.state === "found" ? { ...next, replaces: own } : own;
  };
  const resolveAll = (gate: Partial<Remembered>): Resolution[] =>
    resolvePrevious(
      known.map((one) => resolveOne(one, gate)),
      keptOf,
    );
  const gate = gateOf(
    input,
    known.map(({ remembered }) => remembered),
    () => versionsDigest(resolveAll({ refreshInMs: 0 })),
  );
  const resolutions = resolveAll(gate);
  return [...resolutions, ...unfound(input)];
}

/** Returns the gate of the whole resource, and whether there is anything that it can keep. */
function gateOf(
  input: Observed,
  remembered: readonly Remembered[],
  digest: () => string,
): Pick<Remembered, "updates" | "hasTarget"> {
  const { state, freeze, now } = input;
  const hasTarget = remembered.some(
    ({ synced, served }) => synced !== undefined || served !== undefined,
  );
  const isApplied = state.state !== "owned" || !hasFormerKeys(input, state.synced);
  const updates = updateGate(input, hasTarget && isApplied, { freeze, digest, now });
  return { updates, hasTarget };
}

function rememberedOf(
  input: Observed,
  listed: ReadonlyMap<string, number>,
  item: SyncItem,
): Remembered {
  const { access, snapshot, state } = input;
  const synced = state.state === "owned" ? state.synced.get(item.id) : undefined;
  const served = servedVersion(input, item);
  const owner = ownerOfBytes(input, item, synced);
  const isFound = hasEntry(input, item, { owner, find: item.foundBy });
  const isListed = !isFound && hasEntry(input, item, { owner });
  return {
    synced,
    served,
    isOmitted: isUnknown(input, item),
    servedOwner: served === undefined ? undefined : lastOwner(input, item),
    refreshInMs: refreshInMs(input, input.now),
    sameName: synced !== undefined && isOfName(input, item, synced),
    isOfOtherVault: synced !== undefined && !isFromVault(synced, access.vault),
    isInFormer: isOptionalInFormer(input, item, synced),
    deleteAt: isListed
      ? listedDeadline(input, item, owner)
      : isOfOtherOwner(input, item, synced)
        ? undefined
        : knownDeadline(input, listed, item, owner),
    missingSince: snapshot.missingSince(item.source, owner),
    isListed,
    isGone: owner !== undefined && !isFound,
    sources: () => sourcesOf(input, item, owner),
    provenInMs: isFound ? undefined : provenInMs(input, item, { synced, owner, isListed }),
    ofOwner: ownerText(input, item, owner, isListed),
    list: listText(input),
    near: nearOf(input, item),
  };
}

/** Returns the ids of the entry of an owner, or of the last one, that an item refers to. */
const sourcesOf = (input: Observed, item: SyncItem, owner?: string): ReadonlySet<string> =>
  idsOfEntries(input.access.vault, item.source, [item.owner, owner ?? lastOwner(input, item)]);

/** Reports whether neither the target nor the status says whether the target had an item. */
function isUnknown({ state, before }: Observed, item: SyncItem): boolean {
  const { items = [] } = before;
  const hasClaims =
    state.state === "owned" && (!state.annotationsCorrupted || state.synced.size > items.length);
  return !hasClaims && isOmitted(before, item);
}

/** Returns the owner of the entry that the last status shows for an item. */
const lastOwner = ({ before, access }: Observed, item: SyncItem): string =>
  earlierItem(before, item)?.owner ?? access.account;

/**
 * Returns the owner of the entry that an item refers to. If the spec names none, the entry is what
 * the target has bytes of, or had until their deadline; its owner is known if the status or the
 * connection names it. Instead of an entry of another vault, it is the one of the same owner.
 */
function ownerOfBytes(
  input: Observed,
  item: SyncItem,
  synced: SyncedKey | undefined,
): string | undefined {
  if (item.owner !== undefined) return item.owner;
  const { access, before, now } = input;
  if (synced === undefined) {
    const { deleteAt = Infinity } = earlierItem(before, item) ?? {};
    const isRemoved = before.connection === access.id && deleteAt <= now;
    return isRemoved ? lastOwner(input, item) : undefined;
  }
  if (!isFromVault(synced, access.vault)) return lastOwner(input, item);
  return [lastOwner(input, item), ...namedOwners(access)].find((owner) =>
    entryIds(access.vault, item.source, owner).includes(synced.source),
  );
}

/** Reports whether the target, or the last status, has an entry of another owner than the spec. */
function isOfOtherOwner(input: Observed, item: SyncItem, synced: SyncedKey | undefined): boolean {
  if (item.owner === undefined) return false;
  return synced === undefined
    ? lastOwner(input, item).toLowerCase() !== item.owner.toLowerCase()
    : synced.source !== sourceId(input.access.vault, item.source, item.owner);
}

/**
 * Returns the deadline of an entry: the one that the last list with it had, otherwise the one that
 * this process, or the status, knows of the item.
 */
function knownDeadline(
  input: Observed,
  listed: ReadonlyMap<string, number>,
  item: SyncItem,
  owner: string | undefined,
): number | undefined {
  if (!followedDeadlines(input, item)) return undefined;
  const { before, deadlines, snapshot } = input;
  const known =
    deadlines === undefined ? earlierItem(before, item)?.deleteAt : listed.get(deadlineKey(item));
  // Without its metadata, a found entry has a deadline only if it has an effect.
  if (owner === undefined || (item.foundBy !== undefined && known === undefined)) return known;
  // It may have changed while something kept the resource from being reconciled.
  const last = snapshot.lastListed(item.source, owner);
  return last === undefined ? known : last.deleteAt;
}

/**
 * Reports whether the deadlines of an item are known. A resource that was suspended, or not valid,
 * did not follow the lists: what its status shows is no evidence for a removal, but for keeping
 * bytes.
 */
function followedDeadlines(
  { resource, before, deadlines, access }: Observed,
  item: SyncItem,
): boolean {
  if (deadlines !== undefined) return deadlines.connection === access.id;
  const isKept = resource.whenRemoved === "Retain" && item.isOptional !== true;
  const isFollowed = followsLists(findCondition(before.conditions, "Ready")?.reason);
  return before.connection === access.id && (isFollowed || isKept);
}

/**
 * Returns the deadline of the owner's entry that the list has without the metadata of its rule: it
 * is the last one that is known when the entry is gone.
 */
function listedDeadline(
  { source, snapshot, access, resource }: Observed,
  item: SyncItem,
  owner: string | undefined,
): number | undefined {
  const any = { ...item, foundBy: undefined };
  const entries = source.candidates(snapshot, any, access, resource);
  return entries.find((entry) => hasOwner(entry, owner))?.deleteAt;
}

/** Reports whether the list has an entry of the name of an item. */
const hasEntry = ({ source, snapshot }: Observed, item: SyncItem, of?: EntryFilter): boolean =>
  source.isListed(snapshot, item.source, of);

interface KnownItem {
  /** The claim of the target. */
  readonly synced: SyncedKey | undefined;
  /** The owner of the entry that the item refers to. */
  readonly owner: string | undefined;
  /** The list has the entry, but without the metadata of its rule. */
  readonly isListed: boolean;
}

/**
 * Returns the time in milliseconds until the absence of an entry is proven that the list lacks, or
 * whose metadata it lacks; `undefined` while the
 * list is outdated: the name may be back, and the target may have it from another leader.
 */
function provenInMs(
  input: Observed,
  item: SyncItem,
  { synced, owner, isListed }: KnownItem,
): number | undefined {
  const { source, access, snapshot } = input;
  if (access.stale !== undefined) return undefined;
  const rule = isListed && item.foundBy !== undefined ? metadataRule(item.foundBy) : undefined;
  const selection = hasEntry(input, item) ? { owner, rule } : undefined;
  const hasBytes =
    synced === undefined
      ? isInFormer(input, item)
      : isOfName(input, item, synced) || !isFromVault(synced, access.vault);
  return access.removals.untilProven(snapshot, source.entries, item.source, selection, hasBytes);
}

/**
 * Returns the owner in a message about a missing entry, if another owner's entry of the name is
 * listed. Users of a ClusterVaultConnection need not know its account.
 */
function ownerText(
  input: Observed,
  item: SyncItem,
  owner: string | undefined,
  isListed: boolean,
): string | undefined {
  if (isListed || !hasEntry(input, item)) return undefined;
  const { connection } = input.resource;
  const { account } = input.access;
  return connection.kind === "ClusterVaultConnection" && owner === account ? undefined : owner;
}

/**
 * Returns the list in a message. Users of a ClusterVaultConnection need not know its account and
 * scope.
 */
function listText({ resource: { connection }, access: { facts } }: Observed): string {
  if (connection.kind === "ClusterVaultConnection")
    return `the list of ${connection.kind} ${connection.name}`;
  return `the list of ${facts.email}${facts.scope === "" ? "" : `, which spec.scope of ${connection.kind} ${connection.name} limits to ${facts.scope}`}`;
}

/**
 * Returns another listed name that the user may have meant, if the namespace of the resource may
 * read it.
 */
function nearOf(
  { source, snapshot, grant }: Observed,
  { source: name }: SyncItem,
): string | undefined {
  const near = snapshot.near(source.entries, name);
  return near !== undefined && typeof grant === "function" && grant(source.entries, near)
    ? near
    : undefined;
}

/**
 * Reports whether only a former target has bytes of the source of an optional item. Without the
 * evidence that its source is gone, they stay until the target has them.
 */
const isOptionalInFormer = (
  input: Observed,
  item: SyncItem,
  synced: SyncedKey | undefined,
): boolean => item.isOptional === true && synced === undefined && isInFormer(input, item);

/**
 * Reports whether a former target has bytes of the source of an item, under its key or another one.
 */
function isInFormer(input: Observed, item: SyncItem): boolean {
  const formers = input.formers();
  if (formers.length === 0) return false;
  const isOf = isOfItem(input, item);
  return ownClaims(formers).some((claims) => [...claims].some(isOf));
}

/** Returns what is known of the bytes of a target, by item. */
export const bytesOf = (
  observed: Observed,
  resolutions: readonly Resolution[],
): Pick<Report, "versions" | "ofOtherVault" | "unconfirmed"> => ({
  versions: syncedVersions(observed, resolutions),
  ofOtherVault: itemsOfOtherVault(observed),
  unconfirmed: unconfirmedItems(observed, resolutions),
});

/**
 * Returns the known versions of the keys whose bytes are from the source that their item refers to.
 * The version of another source or vault says nothing about what this one may serve.
 */
function syncedVersions(
  { before, access, state }: Observed,
  resolutions: readonly Resolution[],
): Map<string, number> {
  const versions = new Map<string, number>();
  for (const resolution of resolutions) {
    const { item } = resolution;
    const synced = state.state === "owned" ? state.synced.get(item.id) : undefined;
    if (synced === undefined || !isFromVault(synced, access.vault)) continue;
    const isSource =
      resolution.state === "found"
        ? synced.source === sourceId(access.vault, item.source, resolution.candidate.owner)
        : isOfName({ before, access }, item, synced);
    if (isSource) versions.set(item.id, synced.version);
  }
  return versions;
}

/**
 * Returns the items of a resource under whose keys its target has bytes of another vault. The claims
 * of an edited target do not count: then the last status says it.
 */
function itemsOfOtherVault({ resource, access, state, before }: Observed): Set<string> {
  if (state.state !== "owned") return new Set();
  const isOther = (item: SyncItem): boolean => {
    const synced = state.synced.get(item.id);
    if (synced !== undefined) return !isFromVault(synced, access.vault);
    return before.connection === access.id && earlierItem(before, item)?.otherVault === true;
  };
  return new Set(resource.items.filter(isOther).map(({ id }) => id));
}

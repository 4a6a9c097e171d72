import { findCondition } from "../../api/conditions.ts";
import { type Remembered, type Resolution, resolveItem } from "../../sync/resolve.ts";
import { unfound, metadataRule } from "../../sync/find-items.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import { earlierItem, isForced } from "../../sync/sync-status.ts";
import {
  isFromVault,
  type SyncedKey,
  sourceId,
  type TargetState,
  withoutClaims,
} from "../../sync/target.ts";
import { deadlineKey } from "./resource-memory.ts";
import type { Observed } from "./stages.ts";

/**
 * Returns which entry and version of the vault each item refers to, given what this target has and
 * what was listed before.
 */
export function resolveItems(input: Observed): Resolution[] {
  const { source, resource, access, snapshot, now, unmatched, unusable } = input;
  const deadlines = new Map<string, number>(JSON.parse(input.deadlines?.ofItems ?? "[]"));
  const resolutions = resource.items.map((item) => {
    const candidates = source.candidates(snapshot, item, access);
    return resolveItem(resource, item, candidates, rememberedOf(input, deadlines, item), now);
  });
  return [...resolutions, ...unfound({ unmatched, unusable })];
}

/**
 * Returns for how many milliseconds the resource does not follow newer versions. A changed spec and
 * a forced sync do not wait, nor does a status of a replica whose clock was ahead by more than the
 * interval: it would be waited for as long again.
 */
function refreshInMs({ resource, before, now }: Observed): number {
  const { refreshIntervalMs = 0, generation } = resource;
  if (isForced(resource, before) || before.observedGeneration !== generation) return 0;
  const syncedAt = Date.parse(before.syncedAt ?? "");
  if (Number.isNaN(syncedAt) || syncedAt - now > refreshIntervalMs) return 0;
  return Math.min(refreshIntervalMs, syncedAt + refreshIntervalMs - now);
}

function rememberedOf(
  input: Observed,
  listed: ReadonlyMap<string, number>,
  item: SyncItem,
): Remembered {
  const { source, before, deadlines, access, snapshot, state } = input;
  const synced = state.state === "owned" ? state.synced.get(item.id) : undefined;
  const earlier = earlierItem(before, item);
  const missingSince = snapshot.missingSince(item.source, item.owner);
  const lastOwner = earlier?.owner ?? access.account;
  const isOtherOwner =
    item.owner !== undefined &&
    (synced === undefined
      ? lastOwner.toLowerCase() !== item.owner.toLowerCase()
      : synced.source !== sourceId(access.vault, item.source, item.owner));
  // A resource that was suspended did not follow the lists.
  const isFollowed =
    before.connection === access.id &&
    findCondition(before.conditions, "Ready")?.reason !== "Suspended";
  const reported = isFollowed ? earlier?.deleteAt : undefined;
  const listedDeadline =
    deadlines?.connection === access.id ? listed.get(deadlineKey(item)) : undefined;
  const deleteAt = isOtherOwner ? undefined : deadlines === undefined ? reported : listedDeadline;
  const served = before.connection === access.id ? earlier?.version : undefined;
  const servedOwner = served === undefined ? undefined : lastOwner;
  // An outdated list proves nothing: the name may be back, and the target may have it from another
  // leader.
  const isStale = access.stale !== undefined;
  // The list shows the entry, and that the rule does not find it any more.
  const { foundBy } = item;
  const isListed =
    foundBy !== undefined &&
    source.isListed(snapshot, item.source) &&
    !source.hasMetadata(snapshot, item.source, foundBy);
  const rule = isListed ? metadataRule(foundBy) : undefined;
  const provenInMs = isStale
    ? undefined
    : access.removals.untilProven(snapshot, source.entries, item.source, rule);
  const held = access.removals.held > 0;
  return {
    synced,
    served,
    servedOwner,
    refreshInMs: refreshInMs(input),
    sameName: synced !== undefined && isOfName(input, item, synced),
    deleteAt: isListed ? undefined : deleteAt,
    missingSince,
    isListed,
    provenInMs,
    held,
    list: listText(input),
    near: nearOf(input, item),
  };
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
 * Reports whether bytes are of an entry of the name that an item refers to, as the last status or
 * their source shows. A status that has the item without a version says nothing: the bytes may be
 * of the source that an earlier spec named.
 */
function isOfName(
  { before, access }: Pick<Observed, "before" | "access">,
  item: SyncItem,
  synced: SyncedKey,
): boolean {
  const earlier = earlierItem(before, item);
  if (earlier?.version !== undefined) return true;
  const owners = [undefined, access.account, earlier?.owner, item.owner];
  return owners.some((owner) => synced.source === sourceId(access.vault, item.source, owner));
}

/**
 * Returns the versions of the keys whose bytes are of the source that their item refers to, as far
 * as known. The version of another source or vault says nothing about what this one may serve.
 */
export function syncedVersions(
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
 * Returns the state of an edited target with the versions that the last status reported instead of
 * those it claims.
 */
export function withReported({ resource, before, state }: Observed): TargetState {
  const items = new Map(resource.items.map((item) => [item.id, item]));
  return withoutClaims(state, (id) => {
    const item = items.get(id);
    return item && earlierItem(before, item)?.version;
  });
}

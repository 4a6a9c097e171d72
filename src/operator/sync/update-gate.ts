import { findCondition } from "../api/conditions.ts";
import { followsLists } from "../api/reasons.ts";
import { closedForAll, type UpdateFacts } from "./gate.ts";
import type { Gate } from "./resolution.ts";
import { shownItem, type SyncStatus } from "./stored-status.ts";
import type { SyncResource } from "./sync-resource.ts";
import { isForced } from "./sync-status.ts";
import type { SyncedKey } from "./target.ts";

/** A resource, and the status that its last reconcile left. */
interface Reconciled {
  readonly resource: SyncResource;
  readonly before: SyncStatus;
}

/**
 * Reports whether the spec has changed since the last reconcile, or was never reconciled: a
 * difference in the target need not be a change of another writer.
 */
export const isNewSpec = ({ before, resource }: Reconciled): boolean =>
  before.observedGeneration !== resource.generation;

/**
 * Reports whether a status says that a user changed the spec since, and so decides now. An empty
 * one, of a new resource or because a user removed it, does not: the target may be older.
 */
export const isEdited = (reconciled: Reconciled): boolean =>
  (reconciled.before.observedGeneration ?? -1) >= 0 && isNewSpec(reconciled);

/**
 * Reports whether a target has keys that an earlier spec named: the present one could not be
 * applied yet, and its author still decides. Keys that rules found come and go with the vault.
 */
export function hasFormerKeys(
  reconciled: Reconciled,
  synced: ReadonlyMap<string, SyncedKey>,
): boolean {
  const { items } = reconciled.resource;
  return [...synced].some(
    ([id, { found }]) =>
      found === undefined && !items.some((one) => one.id === id) && !isKept(reconciled, id),
  );
}

/**
 * Reports whether the last reconcile of this spec kept a key that an earlier one named, because the
 * source of the renamed key could not be served.
 */
function isKept({ before, resource }: Reconciled, id: string): boolean {
  const reason = findCondition(before.conditions, "Ready")?.reason;
  if (isNewSpec({ before, resource }) || reason === "ConnectionNotReady" || !followsLists(reason))
    return false;
  return resource.items.some(
    (item) => shownItem(before, { ...item, id }) !== undefined && !shownItem(before, item),
  );
}

/**
 * Returns the gate of the whole resource. The first content and a changed spec do not wait: its
 * author decides now.
 * @param hasTarget whether the target has bytes of some item, or had them last
 */
export const updateGate = (
  reconciled: Reconciled,
  hasTarget: boolean,
  facts: UpdateFacts,
): Gate | undefined =>
  hasTarget && !isEdited(reconciled) ? closedForAll(reconciled.resource, facts) : undefined;

/**
 * Returns the time in milliseconds for which the resource does not follow newer versions. A changed
 * spec and a forced sync do not wait. A status from a replica whose clock was ahead by more than
 * the interval does not count: newer versions would wait as long again.
 */
export function refreshInMs({ resource, before }: Reconciled, now: number): number {
  const { refreshIntervalMs = 0 } = resource;
  if (isForced(resource, before) || isEdited({ resource, before })) return 0;
  const syncedAt = Date.parse(before.syncedAt ?? "");
  if (Number.isNaN(syncedAt) || syncedAt - now > refreshIntervalMs) return 0;
  return Math.min(refreshIntervalMs, syncedAt + refreshIntervalMs - now);
}

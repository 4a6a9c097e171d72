import { earlierItem, isOmitted } from "../../sync/stored-status.ts";
import { fansOut } from "../../sync/sync-key.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { type TargetState, withoutClaims } from "../../sync/target.ts";
import type { Memory } from "./resource-memory.ts";
import type { Observed } from "./stages.ts";

/**
 * Reports whether a status is the one of all namespaces, with which a process begins: this target
 * may have had other versions.
 */
export const isShared = (resource: SyncResource, { hasOwnItems }: Memory): boolean =>
  fansOut(resource.kind) && !hasOwnItems;

/** Returns the version of an item that a target had last, also if it is deleted since. */
export function servedVersion(
  { resource, memory, before, access, state }: Observed,
  item: SyncItem,
): number | undefined {
  if (isShared(resource, memory) && state.state === "owned" && !state.annotationsCorrupted)
    return state.synced.get(item.id)?.version;
  return before.connection === access.id ? earlierItem(before, item)?.version : undefined;
}

/**
 * Returns the state of an edited target with the versions that the last status reported instead of
 * those it claims. Of items that the status omits, and of bytes of another vault, only the claims are
 * known.
 */
export function withReported({ resource, memory, before, state }: Observed): TargetState {
  const items = new Map(resource.items.map((item) => [item.id, item]));
  return withoutClaims(state, (id, { version }) => {
    const item = items.get(id);
    if (item === undefined) return undefined;
    const earlier = earlierItem(before, item);
    const isClaimed =
      isShared(resource, memory) || isOmitted(before, item) || earlier?.otherVault === true;
    return isClaimed ? version : earlier?.version;
  });
}

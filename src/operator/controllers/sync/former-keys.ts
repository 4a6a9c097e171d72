import { isOwn } from "../../sync/gone-claims.ts";
import { missingKeys } from "../../sync/required-keys.ts";
import type { Resolution } from "../../sync/resolution.ts";
import { isDerived, type SyncItem, type SyncResource } from "../../sync/sync-resource.ts";
import type { Claims, SyncedKey } from "../../sync/target.ts";
import { isOfItem } from "./bytes-of-item.ts";
import type { Observed } from "./stages.ts";

/**
 * Returns the resource with the keys that its target has of sources that cannot be served. An edit
 * that renames such a key has no bytes for the new one: the item keeps the former key, and with it
 * all that is known of its bytes, until the source is found again. A key that the spec gives to
 * another item is not kept. Returns `undefined` if there is no such key.
 */
export function withFormerKeys(
  observed: Observed,
  resolutions: readonly Resolution[],
): SyncResource | undefined {
  const { resource, state } = observed;
  if (!isOwn(state) || state.annotationsCorrupted || isDerived(resource)) return undefined;
  const former = formerClaims(resource, state.synced);
  if (former.size === 0) return undefined;
  const unserved = resolutions.filter(
    ({ state: one, item }) => one !== "found" && !state.synced.has(item.id),
  );
  const keys = new Map<SyncItem, string>();
  for (const { item } of unserved) {
    const key = keyOf(item, former, isOfItem(observed, item));
    if (key === undefined) continue;
    keys.set(item, key);
    former.delete(key);
  }
  if (keys.size === 0) return undefined;
  const items = resource.items.map((item) => ({ ...item, id: keys.get(item) ?? item.id }));
  // A type may require the new key.
  const lackOf = (all: readonly SyncItem[]): number =>
    missingKeys(
      resource,
      all.map(({ id }) => id),
    ).length;
  return lackOf(items) > lackOf(resource.items)
    ? undefined
    : { ...resource, items, hold: withFormerKeysHeld(resource.hold, keys) };
}

/** Returns a hold that says of each former key what it says of the new one. */
function withFormerKeysHeld(
  hold: SyncResource["hold"],
  keys: ReadonlyMap<SyncItem, string>,
): SyncResource["hold"] {
  if (hold === undefined) return undefined;
  const versions = new Map(hold.versions);
  for (const [{ id }, former] of keys) {
    const version = hold.versions.get(id);
    if (version === undefined) versions.delete(former);
    else versions.set(former, version);
  }
  return { ...hold, versions };
}

/** Returns what a target has under keys that no item names. A rule knows its own keys. */
function formerClaims({ items, finds }: SyncResource, claims: Claims): Map<string, SyncedKey> {
  const named = new Set(items.map(({ id }) => id));
  return new Map(
    [...claims].filter(
      ([key, { found }]) => !named.has(key) && (found === undefined || finds.length === 0),
    ),
  );
}

/** Returns the key with bytes of its source that is most likely the one of an item. */
function keyOf(
  { form, version }: SyncItem,
  former: Claims,
  isOf: ReturnType<typeof isOfItem>,
): string | undefined {
  const rank = (claim: SyncedKey): number => {
    const byVersion = version === "previous" ? -claim.version : claim.version;
    const isSame = claim.version === version;
    return (claim.form === form ? 2e9 : 0) + (isSame ? 1e9 : 0) + byVersion;
  };
  const [best] = [...former].filter(isOf).sort(([, a], [, b]) => rank(b) - rank(a));
  return best?.[0];
}

import { claimedNames } from "../../sync/find-items.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { readStatus, type SyncStatus } from "../../sync/stored-status.ts";
import {
  type Claims,
  ownClaims,
  sourceId,
  type SyncedKey,
  type TargetMetadata,
  targetState,
} from "../../sync/target.ts";
import type { SyncedKind } from "./source-kind.ts";
import type { TargetRecords } from "./target-records.ts";

/**
 * A resource, and what its status and its targets show: the one that its spec names, and former ones
 * that still exist.
 */
export interface ShownResource {
  readonly resource: SyncResource;
  readonly status: SyncStatus;
  /** The claims of each target. */
  readonly synced: readonly Claims[];
  /** The names of the sources whose bytes a target claims to have. */
  readonly claimed: ReadonlySet<string>;
  /** Reports whether a target claims bytes of one of these entries, of any vault; `entryIds`. */
  readonly claims: (ids: readonly string[]) => boolean;
  /** Reports the same of the bytes under one key. */
  readonly claimsUnder: (key: string, ids: readonly string[]) => boolean;
}

const withoutVault = ({ source }: SyncedKey): string => source.slice(source.lastIndexOf("."));

const isEqual = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((each, index) => each === other[index]);

/** A target of a resource, and the resource as one of that target. */
type Target = readonly [of: SyncResource, metadata: TargetMetadata | undefined];

/** Returns the target of a resource, and the former ones. */
const targetsOf = (
  resource: SyncResource,
  targets: Pick<TargetRecords, "lastMetadata" | "formers">,
): readonly Target[] => [
  [resource, targets.lastMetadata(resource)],
  ...targets.formers(resource).map(({ former, metadata }) => [former, metadata] as const),
];

const claimsOf = (targets: readonly Target[]): Claims[] =>
  ownClaims(targets.map((target) => targetState(...target)));

/** Reports whether a target, or a former one, has keys of a resource, whatever its status says. */
export const hasKeys = (...of: Parameters<typeof targetsOf>): boolean =>
  claimsOf(targetsOf(...of)).some(({ size }) => size > 0);

function shown(
  resource: SyncResource,
  status: SyncStatus,
  targets: readonly Target[],
): ShownResource {
  const synced = claimsOf(targets);
  const entries = new Set(synced.flatMap((one) => [...one.values()].map(withoutVault)));
  // A former target may have the bytes of a source under another key.
  const isClaimed = ({ id, source, owner }: SyncItem): boolean =>
    synced.some((one) => one.has(id)) || entries.has(sourceId("", source, owner));
  const claimed = new Set([
    ...resource.items.filter(isClaimed).map(({ source }) => source),
    ...resource.finds.flatMap((find) =>
      synced.flatMap((one) => claimedNames(find, one, () => false)),
    ),
  ]);
  const claims = (ids: readonly string[]): boolean => ids.some((id) => entries.has(id));
  const claimsUnder = (key: string, ids: readonly string[]): boolean =>
    synced.some((one) => {
      const claim = one.get(key);
      return claim !== undefined && ids.includes(withoutVault(claim));
    });
  return { resource, status, synced, claimed, claims, claimsUnder };
}

/**
 * Returns a function that returns what a resource shows, by its key of the queue; `undefined` if
 * there is none. It remembers the last one: a list may change thousands of names of one resource.
 */
export function resourceReader(
  kinds: Readonly<Record<SyncKind, SyncedKind>>,
  targets: Pick<TargetRecords, "lastMetadata" | "formers">,
): (key: string) => ShownResource | undefined {
  let last: {
    readonly object: unknown;
    readonly metadata: readonly unknown[];
    readonly shown: ShownResource;
  };
  return (key) => {
    const { kind, objectKey } = parseSyncKey(key);
    const object = kinds[kind].resources.get(objectKey);
    if (object === undefined) return undefined;
    const isSame = last?.object === object;
    const resource = isSame ? last.shown.resource : kinds[kind].source.parse(object).resource;
    const all = targetsOf(resource, targets);
    const metadata = all.map(([, of]) => of);
    if (isSame && isEqual(last.metadata, metadata)) return last.shown;
    const status = readStatus(kind, object["status"]);
    last = { object, metadata, shown: shown(resource, status, all) };
    return last.shown;
  };
}

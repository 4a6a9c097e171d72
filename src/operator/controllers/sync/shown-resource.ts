import { claimedNames } from "../../sync/find-items.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { readStatus, type SyncStatus } from "../../sync/stored-status.ts";
import { type SyncedKey, type TargetState, targetState } from "../../sync/target.ts";
import type { SyncedKind } from "./sync-reconciler.ts";
import type { TargetRecords } from "./target-records.ts";

/** A resource, and what its status and its target show. */
export interface ShownResource {
  readonly resource: SyncResource;
  readonly status: SyncStatus;
  readonly state: TargetState;
  /** The names of the sources whose bytes the target claims to have. */
  readonly claimed: ReadonlySet<string>;
  /** Reports whether the target claims bytes of one of these entries, of any vault; `entryIds`. */
  claims(ids: readonly string[]): boolean;
}

const withoutVault = ({ source }: SyncedKey): string => source.slice(source.lastIndexOf("."));

function shown(resource: SyncResource, status: SyncStatus, state: TargetState): ShownResource {
  const synced = state.state === "owned" ? state.synced : new Map<string, SyncedKey>();
  const entries = new Set([...synced.values()].map(withoutVault));
  const claimed = new Set([
    ...resource.items.flatMap(({ id, source }) => (synced.has(id) ? source : [])),
    ...resource.finds.flatMap((find) => claimedNames(find, synced, () => false)),
  ]);
  return { resource, status, state, claimed, claims: (ids) => ids.some((id) => entries.has(id)) };
}

/**
 * Returns a function that returns what a resource shows, by its key of the queue; `undefined` if
 * there is none. It remembers the last one: a list may change thousands of names of one resource.
 */
export function resourceReader(
  kinds: Readonly<Record<SyncKind, SyncedKind>>,
  targets: Pick<TargetRecords, "metadata">,
): (key: string) => ShownResource | undefined {
  let last: { readonly object: unknown; readonly metadata: unknown; readonly shown: ShownResource };
  return (key) => {
    const { kind, objectKey } = parseSyncKey(key);
    const object = kinds[kind].resources.get(objectKey);
    if (object === undefined) return undefined;
    const isSame = last?.object === object;
    const resource = isSame ? last.shown.resource : kinds[kind].source.parse(object).resource;
    const metadata = targets.metadata(resource);
    if (isSame && last.metadata === metadata) return last.shown;
    const status = readStatus(kind, object["status"]);
    last = { object, metadata, shown: shown(resource, status, targetState(resource, metadata)) };
    return last.shown;
  };
}

import type { BytesDigest } from "./content.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { isAccepted, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { sameCreation, type SyncedKey } from "./target.ts";

/** The bytes of one key of a target and where they come from. */
export interface KeyState extends BytesDigest {
  readonly synced: SyncedKey;
}

/**
 * Checks the bytes of one key before they replace those that the target had. Returns a reason to keep these instead, or
 * `undefined`. A value that becomes empty with a new version, or that changes without one, is rejected until a user accepts the
 * version: that is how a broken vault and a restored backup appear. See docs/design/engine.md#identity-of-target-bytes.
 */
export function reviewKey(
  resource: SyncResource,
  item: SyncItem,
  fetched: KeyState,
  before: KeyState | undefined,
): ReadyCondition | undefined {
  const { version, source, createdAt } = fetched.synced;
  if (before === undefined || fetched.digest === before.digest || isAccepted(resource, item, version)) return undefined;
  const isSame =
    version === before.synced.version && source === before.synced.source && sameCreation(createdAt, before.synced.createdAt);
  const accept = `set the annotation vaultsync.dev/accept=${item.source}@${version}`;
  if (isSame) {
    const message = `version ${version} of ${item.source} has other bytes than before, although a version never changes; the target is left unchanged. To accept them, ${accept}`;
    return notReady("SourceSuspicious", message);
  }
  if (fetched.size > 0 || before.size === 0) return undefined;
  const message = `version ${version} of ${item.source} is empty and the stored version is not; the target keeps its content. To accept the empty version, ${accept}`;
  return notReady("SourceSuspicious", message);
}

import { type Content, sizeOf } from "./content.ts";
import { MAX_TARGET_BYTES, tooLarge } from "./decide.ts";
import { isAccepted, type SyncResource } from "./sync-resource.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";

/**
 * Checks the complete content before it is written. Returns a reason to keep the current content instead, or `undefined`.
 * A value that becomes empty with a new version is rejected until a user accepts it, because that is how a broken vault appears.
 * `fetched` has the versions by key that the target did not contain before.
 */
export function reviewContent(
  resource: SyncResource,
  fetched: ReadonlyMap<string, number>,
  content: Content,
  current: Content,
): ReadyCondition | undefined {
  for (const item of resource.items) {
    const version = fetched.get(item.targetKey);
    const emptied = content.get(item.targetKey)?.byteLength === 0 && (current.get(item.targetKey)?.byteLength ?? 0) > 0;
    if (emptied && version !== undefined && !isAccepted(resource, item, version)) {
      return notReady(
        "SourceSuspicious",
        `version ${version} of ${item.source} is empty and the stored version is not; the target keeps its content. ` +
          `To accept the empty version, set the annotation vaultsync.dev/accept=${item.source}@${version}`,
      );
    }
  }
  const bytes = sizeOf(content);
  return bytes > MAX_TARGET_BYTES ? tooLarge(bytes) : undefined;
}

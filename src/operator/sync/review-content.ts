import { type Content, sizeOf } from "./content.ts";
import { MAX_TARGET_BYTES, tooLarge } from "./decide.ts";
import { isAccepted, type SyncResource } from "./sync-resource.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";

/**
 * The last look at a whole content before it is written: a reason to keep what is there instead, or `undefined`.
 * Bytes that become none with a new version are refused until a person accepts it, as that is what a broken vault looks like (design:
 * `SourceSuspicious`). `fetched` has the versions that the target did not hold before, by key.
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

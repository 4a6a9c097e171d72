import type { BytesDigest } from "./content.ts";
import { madeBy } from "./item-form.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { isAccepted, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { sameCreation, type SyncedKey } from "./target.ts";

/** The bytes of one key of a target and where they come from. */
export interface KeyState extends BytesDigest {
  /**
   * Origins of the items that the bytes are made of, in the order of the items; none if they are
   * unknown.
   */
  readonly origin: readonly SyncedKey[];
}

const isSameOrigin = (one: SyncedKey, other: SyncedKey | undefined): boolean =>
  one.version === other?.version &&
  one.source === other.source &&
  sameCreation(one.createdAt, other.createdAt);

/** Reports whether the spec makes the bytes in another way than before, or of fewer sources. */
const isMadeDifferently = (
  { template }: SyncResource,
  { origin: now }: KeyState,
  { origin: before }: KeyState,
): boolean =>
  (before.length > 0 && madeBy(before[0]?.form) !== madeBy(now[0]?.form)) ||
  (template !== undefined && now.length < before.length);

/**
 * Checks the bytes of one key before they replace the bytes in the target. `items`: the items that
 * the bytes are made of. Returns a reason to keep the earlier bytes, or `undefined`. A value that
 * becomes empty with a new version, or that changes without one, is rejected until a user accepts
 * the version: a broken vault and a restored backup look like that. A value that is made in another
 * way than before is what the user requested, and a template may yield nothing without a source
 * that was removed. See docs/design/engine.md#identity-of-target-bytes.
 */
export function reviewKey(
  resource: SyncResource,
  items: readonly SyncItem[],
  fetched: KeyState,
  before: KeyState | undefined,
): ReadyCondition | undefined {
  if (before === undefined || fetched.digest === before.digest) return undefined;
  if (isMadeDifferently(resource, fetched, before)) return undefined;
  const inputs = items.flatMap((item, index) => {
    const origin = fetched.origin[index];
    return origin === undefined
      ? []
      : [{ item, version: origin.version, isSame: isSameOrigin(origin, before.origin[index]) }];
  });
  if (inputs.some(({ item, version }) => isAccepted(resource, item, version))) return undefined;
  const changed = inputs.find(({ isSame }) => !isSame) ?? inputs[0];
  if (changed === undefined) return undefined;
  const { version, item } = changed;
  const accept = `set the annotation vaultsync.dev/accept=${item.source}@${version}`;
  if (changed.isSame && before.origin.length === fetched.origin.length) {
    const message = `version ${version} of ${item.source} has other bytes than before, although a version never changes; the target is left unchanged. To accept them, ${accept}`;
    return notReady("SourceSuspicious", message);
  }
  if (fetched.size > 0 || before.size === 0) return undefined;
  const message = `version ${version} of ${item.source} is empty and the stored version is not; the target keeps its content. To accept the empty version, ${accept}`;
  return notReady("SourceSuspicious", message);
}

import { CLOCK_SKEW_MS } from "../lib/clock-skew.ts";
import type { Remembered, Resolution } from "./resolution.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";

/**
 * Time in milliseconds, after the first list without a source, for which its removal waits for
 * values of other sources that the vault fails to serve. Then the target is removed if nothing
 * valid can be made of what is left.
 */
const REMOVAL_WAIT_MS = 5 * 60_000;

/**
 * Returns whether the vault removed an entry that it does not list, and what becomes of the key.
 * The key of an optional item is removed on the same evidence as other keys; without a key, nothing
 * is removed.
 */
export function resolveGone(
  resource: SyncResource,
  item: SyncItem,
  remembered: Remembered,
  now: number,
): Resolution {
  const { deleteAt, missingSince, held, isListed } = remembered;
  const isOverdue = now - missingSince >= REMOVAL_WAIT_MS;
  const latest = Math.min(now, missingSince) + CLOCK_SKEW_MS;
  if (isListed === true || deleteAt === undefined || deleteAt > latest)
    return resolveMissing(resource, item, remembered, isOverdue);
  const isAbsent = !hasBytes(remembered);
  const isDeleted = resource.whenRemoved === "Delete" || item.isOptional === true;
  const deletion = held === true ? "held" : "due";
  return {
    state: "removed",
    item,
    deleteAt,
    deletion: isDeleted ? deletion : undefined,
    isOverdue,
    isAbsent,
    sources: resource.whenRemoved === "Delete" ? remembered.sources?.() : undefined,
  };
}

/**
 * Reports whether the target, or a former one, may have bytes of the source. Bytes of another source
 * that an earlier spec named do not count. Of which source bytes of another vault are is not known.
 */
const hasBytes = ({ synced, sameName, isOfOtherVault, isInFormer }: Remembered): boolean =>
  isInFormer === true || (synced !== undefined && (sameName === true || isOfOtherVault === true));

/** Returns what becomes of the key of an entry that is gone before any deadline. */
function resolveMissing(
  resource: SyncResource,
  item: SyncItem,
  remembered: Remembered,
  isOverdue: boolean,
): Resolution {
  const { held, provenInMs = Infinity, isOfOtherVault, isInFormer } = remembered;
  const { isListed, ofOwner, list, near } = remembered;
  const isOptional = item.isOptional === true;
  const isAbsent = !hasBytes(remembered);
  if (isOptional && isAbsent) return { state: "missing", item, deletion: "due", isAbsent };
  // Without an effect, it would say that the key is not removed when the entry is missing.
  const hasDeadline = isListed === true && resource.whenRemoved === "Delete";
  const deleteAt = hasDeadline ? remembered.deleteAt : undefined;
  const missing = { state: "missing", item, isListed, deleteAt, ofOwner, list, near } as const;
  if (resource.whenMissing === "Retain" && !isOptional) return missing;
  if (held === true) return { ...missing, deletion: "held", isAbsent };
  return provenInMs > 0
    ? { ...missing, deletion: "awaited", provenInMs, isAbsent, isOfOtherVault, isInFormer }
    : { ...missing, deletion: "due", isOverdue, isAbsent };
}

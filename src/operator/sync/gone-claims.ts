import type { Resolution } from "./resolution.ts";
import type { Claims, SyncedKey, TargetState } from "./target.ts";

/** Reports whether the source is gone and the resource requests that its key is removed as well. */
export const isDropped = (resolution: Resolution): boolean =>
  "deletion" in resolution && resolution.deletion === "due";

/** Reports whether sources are gone for so long that bytes of other sources may leave with theirs. */
export const areOverdue = (dropped: readonly Resolution[]): boolean =>
  dropped.every((one) => "isOverdue" in one && one.isOverdue);

/**
 * Returns the claims whose bytes have to leave a target, with the resolution that says why. Bytes
 * of a source at its deadline have to, whatever key an earlier spec gave them.
 * @param hasOwn whether the claim of the item itself is of its source
 */
export function goneClaims(
  resolutions: readonly Resolution[],
  claims: Claims,
  hasOwn: (one: Resolution, claim: SyncedKey) => boolean = hasBytes,
): ReadonlyMap<string, Resolution> {
  const gone = new Map<string, Resolution>();
  for (const one of resolutions) {
    if (!isDropped(one)) continue;
    const own = claims.get(one.item.id);
    if (own !== undefined && hasOwn(one, own)) gone.set(one.item.id, one);
    const sources = one.state === "removed" ? one.sources : undefined;
    if (sources === undefined) continue;
    // What was made of the source under its own id is known already.
    for (const [id, { source }] of claims)
      if (sources.has(source) && !gone.has(id)) gone.set(id, one);
  }
  return gone;
}

const hasBytes = (one: Resolution): boolean =>
  !("isBelowFirst" in one) && !("isAbsent" in one && one.isAbsent);

/**
 * Reports whether a target has bytes of the vault. An object that is handed over has none: nothing
 * of it has to go.
 */
export const isOwn = (
  target: TargetState,
): target is Extract<TargetState, { readonly state: "owned" }> =>
  target.state === "owned" && target.adoption === undefined;

/**
 * Returns the sources that are gone and whose bytes, as far as known, are to leave the target,
 * whatever becomes of other sources.
 */
export const droppedFrom = (
  resolutions: readonly Resolution[],
  target: TargetState,
): readonly Resolution[] =>
  isOwn(target) ? [...new Set(goneClaims(resolutions, target.synced).values())] : [];

import { isAccepted, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId } from "./target.ts";

/** One entry of the vault's list that an item's name matches. Moments are milliseconds since the epoch, sizes bytes. */
export interface Candidate {
  readonly owner: string | undefined;
  /** Created by the connection's own account. */
  readonly own: boolean;
  readonly latest: number;
  /** The versions that exist, where the list names them, with their sizes. */
  readonly sizes: ReadonlyMap<number, number> | undefined;
  /** When versions were made, where the list says it. A name deleted and made anew has the same versions with other bytes. */
  readonly createdAt?: ReadonlyMap<number, number> | undefined;
  readonly expiresAt: number | undefined;
  readonly deleteAt: number | undefined;
}

/** What is known of an item from earlier. */
export interface Remembered {
  /** What the target holds under the item's key. */
  readonly synced: SyncedKey | undefined;
  /** Whether that was of an entry of the same name, as far as the last status says. */
  readonly sameName?: boolean | undefined;
  /** The deadline the vault last gave for the source. */
  readonly deleteAt: number | undefined;
}

export type Resolution<C extends Candidate = Candidate> =
  | { readonly state: "found"; readonly item: SyncItem; readonly candidate: C; readonly version: number }
  | { readonly state: "removed"; readonly item: SyncItem; readonly deleteAt: number }
  | { readonly state: "missing"; readonly item: SyncItem; readonly deleteAt: number | undefined }
  | { readonly state: "ambiguous"; readonly item: SyncItem; readonly owners: readonly string[] }
  | { readonly state: "other-owner"; readonly item: SyncItem; readonly candidate: C }
  | { readonly state: "no-version"; readonly item: SyncItem; readonly candidate: C; readonly version: number }
  | { readonly state: "regressed"; readonly item: SyncItem; readonly candidate: C; readonly syncedVersion: number };

/** One's own entry wins over a received one of the same name, so that nobody can break a resource by sharing a secret with it. */
function choose<C extends Candidate>(item: SyncItem, candidates: readonly C[]): C | "none" | "several" {
  const wanted = item.owner?.toLowerCase();
  const matching = wanted === undefined ? candidates : candidates.filter(({ owner }) => owner?.toLowerCase() === wanted);
  const [only, another] = matching;
  if (only === undefined) return "none";
  if (another === undefined) return only;
  return matching.find((candidate) => candidate.own) ?? "several";
}

/**
 * Which version of which entry of the vault an item means now. Total and pure.
 * "Removed" needs evidence: the entry is absent from a whole list, and its own deadline has passed; anything else is "missing".
 * A lower `latest` than the target holds is "regressed", never followed unasked. Source: design, "What goes away in the vault".
 */
export function resolveItem<C extends Candidate>(
  resource: SyncResource,
  item: SyncItem,
  candidates: readonly C[],
  remembered: Remembered,
  now: number,
): Resolution<C> {
  const chosen = choose(item, candidates);
  if (chosen === "several") return { state: "ambiguous", item, owners: candidates.map(({ owner }) => owner ?? "?") };
  if (chosen === "none") {
    const { deleteAt } = remembered;
    if (deleteAt !== undefined && deleteAt <= now) return { state: "removed", item, deleteAt };
    return { state: "missing", item, deleteAt };
  }
  const { synced, sameName } = remembered;
  // The entry synced is gone and somebody else shares one of its name: that must not take its place unasked.
  const isAnother = item.owner === undefined && !chosen.own && sameName === true && synced !== undefined;
  if (isAnother && synced.source !== sourceId(item.source, chosen.owner))
    return { state: "other-owner", item, candidate: chosen };
  if (item.version !== "latest") {
    const exists = chosen.sizes === undefined ? item.version <= chosen.latest : chosen.sizes.has(item.version);
    return { state: exists ? "found" : "no-version", item, candidate: chosen, version: item.version };
  }
  const wentBack = synced?.source === sourceId(item.source, chosen.owner) && synced.version > chosen.latest;
  if (wentBack && !isAccepted(resource, item, chosen.latest)) {
    return { state: "regressed", item, candidate: chosen, syncedVersion: synced.version };
  }
  return { state: "found", item, candidate: chosen, version: chosen.latest };
}

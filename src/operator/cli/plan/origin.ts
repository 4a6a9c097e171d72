import type { Entry, Fetch } from "../../sync/decide.ts";
import { foundText } from "../../sync/find-items.ts";
import { deadlineOf, type Remembered, type Resolution } from "../../sync/resolution.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import { isFromVault, type SyncedKey, sourceId } from "../../sync/target.ts";

/** Facts about the entry of an item from the lists. Timestamps are in milliseconds. */
export interface ListedSource {
  /** Name in the vault. */
  readonly name: string;
  readonly owner?: string | undefined;
  /** Its `delete_time` according to the last list that contained it. */
  readonly deleteAt?: number | undefined;
  /** Arrival time of the first list without it. */
  readonly missingSince?: number | undefined;
}

/** The sources of the bytes of a target: names, versions and times, never values. */
export interface Origin {
  /** By item, as in the annotations of a target. */
  readonly synced: ReadonlyMap<string, SyncedKey>;
  readonly sources: ReadonlyMap<string, ListedSource>;
}

/** Returns the claim for bytes that are read from the vault. */
export function claimOf(item: SyncItem, { candidate, version }: Fetch): SyncedKey {
  const { vault, owner, createdAt } = candidate;
  return {
    version,
    source: sourceId(vault, item.source, owner),
    createdAt: createdAt?.get(version),
    form: item.form,
    found: foundText(item),
  };
}

/** Returns the facts about the source of an item after a list. */
function listedSource(
  resolution: Resolution,
  before: ListedSource | undefined,
  now: number,
): ListedSource {
  const { item } = resolution;
  const same = before?.name === item.source ? before : undefined;
  if (resolution.state === "found") {
    const { owner } = resolution.candidate;
    return { name: item.source, owner, deleteAt: deadlineOf(resolution) };
  }
  const isGone = resolution.state === "removed" || resolution.state === "missing";
  const missingSince = isGone ? (same?.missingSince ?? now) : undefined;
  return { ...same, name: item.source, missingSince };
}

/**
 * Returns the origin of a target that consists of these entries.
 * @param before origin of the target that it replaces
 */
export function originOf(
  entries: readonly Entry[],
  resolutions: readonly Resolution[],
  before: Origin | undefined,
  now: number,
): Origin {
  const synced = new Map(
    entries.map((entry) => [
      entry.id,
      entry.from === "target" ? entry.synced : claimOf(entry.item, entry.fetch),
    ]),
  );
  return { synced, sources: sourcesOf(synced, resolutions, before, now) };
}

/** Returns the facts about the sources of a target after a list. */
export function sourcesOf(
  synced: ReadonlyMap<string, SyncedKey>,
  resolutions: readonly Resolution[],
  before: Origin | undefined,
  now: number,
): ReadonlyMap<string, ListedSource> {
  const known = new Map(resolutions.map((one) => [one.item.id, one]));
  const sources = new Map<string, ListedSource>();
  for (const id of synced.keys()) {
    const resolution = known.get(id);
    const source = before?.sources.get(id);
    if (resolution !== undefined) sources.set(id, listedSource(resolution, source, now));
    else if (source !== undefined) sources.set(id, source);
  }
  return sources;
}

/** Returns what is remembered of an item of a target. */
export function rememberedOf(
  { synced, sources }: Origin,
  item: SyncItem,
  vault: string,
): Partial<Remembered> & { readonly owner?: string | undefined } {
  const claim = synced.get(item.id);
  if (claim === undefined) return {};
  const source = sources.get(item.id);
  const isSame = source?.name === item.source;
  const isOfOtherVault = !isFromVault(claim, vault);
  return {
    synced: claim,
    served: claim.version,
    hasTarget: true,
    sameName: isSame,
    isOfOtherVault,
    ...(isSame &&
      !isOfOtherVault && {
        owner: source.owner,
        servedOwner: source.owner,
        deleteAt: source.deleteAt,
        ...(source.missingSince !== undefined && { missingSince: source.missingSince }),
      }),
  };
}

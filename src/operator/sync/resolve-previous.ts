import type { Candidate, Resolution } from "./resolution.ts";
import type { SyncItem } from "./sync-resource.ts";

/** Reports whether an item follows the same entry as an item with `version: previous`. */
const isLeader = (item: SyncItem, of: SyncItem): boolean =>
  item.version === "latest" &&
  item.foundBy === undefined &&
  item.source === of.source &&
  item.owner === of.owner;

/** Returns the newest version below another one; `undefined` if there is none. */
function versionBelow({ sizes }: Candidate, version: number): number | undefined {
  if (sizes === undefined) return version > 1 ? version - 1 : undefined;
  const below = [...sizes.keys()].filter((one) => one < version);
  return below.length === 0 ? undefined : Math.max(...below);
}

/** The bytes of a target under the key of an item: of the source of its spec, or of another. */
export type KeptBytes = "none" | "of-source" | "of-other";

/**
 * Resolves items with `version: previous`: to the version below the one in which the item of the
 * same entry is served, whatever gate keeps it. A hold that names the item
 * itself comes first.
 * @param keptOf returns what the target has under the key of an item
 */
export function resolvePrevious(
  resolutions: readonly Resolution[],
  keptOf: (item: SyncItem) => KeptBytes,
): Resolution[] {
  return resolutions.map((own) => {
    if (own.item.version !== "previous" || isHeld(own)) return own;
    const leader = resolutions.find(({ item }) => isLeader(item, own.item));
    return leader === undefined ? own : follow(own, leader, keptOf(own.item));
  });
}

const isHeld = (one: Resolution): boolean =>
  one.state === "found" && one.gate?.reason === "Held" && one.gate.version !== undefined;

function follow(own: Resolution, leader: Resolution, kept: KeptBytes): Resolution {
  const { item } = own;
  const hasBytes = kept !== "none";
  // Nothing follows the entry now: neither does the version before.
  if (leader.state === "withheld") return followWithheld(item, leader, kept);
  if (leader.state !== "found") return own.state === "found" ? { ...leader, item } : own;
  // The entry was recreated, and the bytes of the former one are kept.
  if (leader.isRecreated === true && hasBytes) return own;
  const { candidate, version } = leader;
  const previous = leader.isRecreated === true ? undefined : versionBelow(candidate, version);
  if (previous !== undefined) return { state: "found", item, candidate, version: previous };
  return item.isOptional === true
    ? { state: "missing", item, deletion: "due", isAbsent: !hasBytes, isBelowFirst: true }
    : { state: "no-version", item, candidate, version };
}

/**
 * Returns the state of an item next to one whose bytes are of another entry, and that a gate keeps
 * so. A key that the spec requires is not in sync with bytes of what an earlier spec named.
 */
function followWithheld(
  item: SyncItem,
  leader: Extract<Resolution, { state: "withheld" }>,
  kept: KeptBytes,
): Resolution {
  if (kept === "of-source" || item.isOptional === true)
    return { ...leader, item, hasBytes: kept !== "none" };
  const { candidate } = leader;
  return { state: "no-version", item, candidate, version: candidate.latest, held: "with-latest" };
}

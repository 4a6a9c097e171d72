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

/**
 * Resolves items with `version: previous`: to the version below the one in which the item of the
 * same entry is served, whatever gate keeps it. A hold that names the item
 * itself comes first.
 * @param hasBytes whether the target has bytes of an item
 */
export function resolvePrevious(
  resolutions: readonly Resolution[],
  hasBytes: (item: SyncItem) => boolean,
): Resolution[] {
  return resolutions.map((own) => {
    if (own.item.version !== "previous" || isHeld(own)) return own;
    const leader = resolutions.find(({ item }) => isLeader(item, own.item));
    return leader === undefined ? own : follow(own, leader, hasBytes(own.item));
  });
}

const isHeld = (one: Resolution): boolean =>
  one.state === "found" && one.gate?.reason === "Held" && one.gate.version !== undefined;

function follow(own: Resolution, leader: Resolution, hasBytes: boolean): Resolution {
  const { item } = own;
  // Nothing follows the entry now: neither does the version before.
  if (leader.state === "withheld") return { ...leader, item, hasBytes };
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

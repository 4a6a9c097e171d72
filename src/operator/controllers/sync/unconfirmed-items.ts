import type { Resolution } from "../../sync/resolution.ts";
import { isInTarget, isUnconfirmedKey, shownItem } from "../../sync/stored-status.ts";
import type { Observed } from "./stages.ts";

/**
 * Returns the items whose bytes wait for a user to confirm their removal. They still do while a policy
 * keeps them, or the spec requests another missing source for the key: until a user confirms, the
 * source is listed again, or the bytes are gone.
 */
export function unconfirmedItems(
  { before, state, access }: Observed,
  resolutions: readonly Resolution[],
): Set<string> {
  const isUnconfirmed = (one: Resolution): boolean => {
    const { item } = one;
    const shown = shownItem(before, item);
    const isShown = shown !== undefined && isInTarget(shown);
    const hasBytes = isShown || (state.state === "owned" && state.synced.has(item.id));
    if (!hasBytes || isListed(one)) return false;
    const deletion = deletionOf(one, isShown);
    if (deletion === "held") return true;
    // An outdated list does not say whether the removal is held.
    const isDecided = deletion !== undefined && access.stale === undefined;
    return !isDecided && isUnconfirmedKey(before, item.id);
  };
  return new Set(resolutions.filter(isUnconfirmed).map(({ item }) => item.id));
}

/** Returns the state of the removal of the bytes; `undefined` if they are of another source. */
function deletionOf(one: Resolution, isShown: boolean): string | undefined {
  if (!("deletion" in one)) return undefined;
  return isShown || one.isAbsent !== true ? one.deletion : undefined;
}

/** Reports whether the list has the entry that an item refers to. */
const isListed = ({ state }: Resolution): boolean =>
  ["found", "withheld", "no-version", "regressed"].includes(state);

import { findCondition } from "../api/conditions.ts";
import type { KubeObject } from "../kube/resource.ts";
import { statusOf } from "./read-resource.ts";
import { fanOutState } from "./status/resource-state.ts";

/**
 * The status of a resource with targets in several namespaces has the items of one that is in sync.
 * These functions say for which others they count.
 */

/** Returns the condition about newer versions that are not followed, other than of pinned items. */
function updateOf(object: KubeObject) {
  const condition = findCondition(statusOf(object).conditions, "UpdateAvailable");
  return condition?.reason === "Synced" ? undefined : condition;
}

/**
 * Reports whether the items of a status are what the target in a namespace has. A freeze of some
 * namespaces keeps other versions there.
 */
export function showsTargetIn(object: KubeObject, namespace: string): boolean {
  const { namespaces: counts, failures, current } = fanOutState(object);
  if (counts === undefined || !current || updateOf(object)?.reason === "Frozen") return false;
  const isKnown = counts.ready + counts.failed === counts.selected;
  const areListed = failures.length === counts.failed;
  return isKnown && areListed && failures.every((one) => one.namespace !== namespace);
}

/** Returns why a target may have other versions than the items of a status; `undefined` if none has. */
export function hiddenVersions(object: KubeObject): string | undefined {
  const { ready, message, current, stale, namespaces: counts } = fanOutState(object);
  if (ready !== "True") return `it is not Ready: ${message}`;
  if (!current || counts === undefined) return "its status is not of the current spec";
  if (stale) return "its targets are Stale";
  if (counts.ready < counts.selected)
    return `the targets of ${counts.selected - counts.ready} of ${counts.selected} namespaces are not in sync`;
  return updateOf(object)?.message;
}

import { CONFIRM_REMOVALS_ANNOTATION } from "../api/names.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncResource } from "./sync-resource.ts";
import type { TargetState } from "./target.ts";
import { firstOf } from "../lib/first-of.ts";

const MAX_NAMED = 10;

/**
 * Returns the condition while the adoption of an object is held: the first write would remove keys
 * of its earlier owner, and no user has confirmed exactly this number of them. `undefined` if it
 * may be written.
 */
export function heldAdoption(
  { namespace, items, target: { kind, name } }: SyncResource,
  state: TargetState,
  removed: readonly string[],
): ReadyCondition | undefined {
  if (state.state !== "owned" || state.adoption === undefined || removed.length === 0)
    return undefined;
  if (state.adoption.confirmed === `${removed.length}`) return undefined;
  const keys = firstOf([...removed].sort(), { max: MAX_NAMED });
  const confirm = `kubectl annotate ${kind.toLowerCase()} -n ${namespace} ${name} ${CONFIRM_REMOVALS_ANNOTATION}=${removed.length}`;
  const gone = items.some(({ id }) => removed.includes(id)) ? " or whose source is gone" : "";
  const message = `the ${kind} ${name} is handed over with keys that the spec does not have${gone}, which would be removed: ${keys}; it is left unchanged`;
  return notReady("AdoptionHeld", `${message}. Add them to the spec, or confirm with: ${confirm}`);
}

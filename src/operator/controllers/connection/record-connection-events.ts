import { readyIn } from "../../api/conditions.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../api/names.ts";
import { eventReasons } from "../../api/reasons.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { recordReadiness, recoveryNote, regarding } from "../outcome/record-readiness.ts";

/**
 * Records that the operator stopped or resumed sending requests for a connection of either kind.
 */
export function recordCircuitEvent(events: EventRecorder, object: KubeObject, open: boolean): void {
  events.record({
    ...regarding(object),
    type: open ? "Warning" : "Normal",
    reason: open ? eventReasons.circuitOpened : eventReasons.circuitClosed,
    action: "List",
    note: open
      ? "several requests in a row failed: only the list is tried, with backoff; see the condition Ready"
      : "the vault responds again",
  });
}

/** Records that a connection is Ready, for the first time or again, or why it is not any more. */
export function recordConnectionEvents(
  events: EventRecorder,
  object: KubeObject,
  before: unknown,
  now: unknown,
): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready?.status !== "True") return recordReadiness(events, object, "List", before, now);
  if (earlier?.status === "True") return;
  const { connected: reason } = eventReasons;
  const note = earlier?.status === "False" ? recoveryNote(earlier, ready) : ready.message;
  events.record({ ...regarding(object), type: "Normal", reason, action: "List", note });
}

/** Records that a user confirmed another number of removals than are held. */
export function recordUnconfirmed(events: EventRecorder, object: KubeObject, held: number): void {
  const now =
    held === 0
      ? "no removals are held"
      : `${held} removals are held: look at them, and confirm this number`;
  const note = `the annotation ${CONFIRM_REMOVALS_ANNOTATION} confirmed nothing, and was removed: ${now}`;
  events.record({
    ...regarding(object),
    type: "Warning",
    reason: eventReasons.unconfirmed,
    action: "Confirm",
    note,
  });
}

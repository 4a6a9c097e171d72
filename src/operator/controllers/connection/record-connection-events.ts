import { readyIn } from "../../api/conditions.ts";
import { eventReasons } from "../../api/reasons.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { recordReadiness, recoveryNote } from "../status/record-readiness.ts";
import { regarding } from "../status/regarding.ts";

/** Records that the operator stopped or resumed sending requests for a connection of either kind. */
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
export function recordConnectionEvents(events: EventRecorder, object: KubeObject, before: unknown, now: unknown): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready?.status !== "True") return recordReadiness(events, object, "List", before, now);
  if (earlier?.status === "True") return;
  const { connected: reason } = eventReasons;
  const note = earlier?.status === "False" ? recoveryNote(earlier, ready) : ready.message;
  events.record({ ...regarding(object), type: "Normal", reason, action: "List", note });
}

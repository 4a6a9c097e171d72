import { eventReasons } from "../../api/reasons.ts";
import type { PushStatus } from "../../api/vault-push.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { recordReadiness, regarding } from "../outcome/record-readiness.ts";
import type { PushOutcome } from "./push-outcome.ts";
import { entryOf } from "../../push/push-resource.ts";

/** Records each push, each change of the reason why the resource is not Ready, and its recovery. */
export function recordPushEvents(
  events: EventRecorder,
  object: KubeObject,
  before: PushStatus,
  now: unknown,
  outcomes: readonly PushOutcome[] = [],
): void {
  for (const { item, effect } of outcomes) {
    if (effect === undefined) continue;
    const note = `pushed version ${effect.version} of the ${entryOf(item)}${effect.restored ? ": another writer had changed or deleted it" : ""}`;
    const reason = effect.restored ? eventReasons.restored : eventReasons.pushed;
    events.record({ ...regarding(object), type: "Normal", reason, action: "Push", note });
  }
  recordReadiness(events, object, "Push", before, now);
}

/**
 * Records that an entry was deleted in the vault, or kept although the deletion policy is `Delete`.
 */
export function recordRemoval(
  events: EventRecorder,
  object: KubeObject,
  deleted: boolean,
  note: string,
): void {
  const what = deleted
    ? ({ type: "Normal", reason: eventReasons.removed } as const)
    : ({ type: "Warning", reason: eventReasons.kept } as const);
  events.record({ ...regarding(object), ...what, action: "Delete", note });
}

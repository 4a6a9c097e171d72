import { findCondition } from "../../api/conditions.ts";
import { vaultPushKind } from "../../api/kinds.ts";
import { eventReasons, type Reason } from "../../api/reasons.ts";
import type { PushStatus } from "../../api/vault-push.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { PushOutcome } from "./push-context.ts";
import { entryOf } from "./push-resource.ts";

const regardingOf = ({ metadata }: KubeObject) => ({
  resource: vaultPushKind,
  namespace: metadata.namespace ?? "",
  name: metadata.name,
  uid: metadata.uid ?? "",
});

/** Records each push, and each change of the reason why the resource is not Ready. */
export function recordPushEvents(
  events: EventRecorder,
  object: KubeObject,
  before: PushStatus,
  readyCondition: ReadyCondition | undefined,
  outcomes: readonly PushOutcome[] = [],
): void {
  for (const { item, effect } of outcomes) {
    if (effect === undefined) continue;
    const note = `pushed version ${effect.version} of the ${entryOf(item)}${effect.restored ? ": another writer had changed or deleted it" : ""}`;
    const reason = effect.restored ? eventReasons.restored : eventReasons.pushed;
    events.record({ ...regardingOf(object), type: "Normal", reason, action: "Push", note });
  }
  const isNew = findCondition(before.conditions, "Ready")?.reason !== readyCondition?.reason;
  if (readyCondition === undefined || readyCondition.ready || readyCondition.reason === "Suspended" || !isNew) return;
  recordWarning(events, object, readyCondition.reason, readyCondition.message);
}

/** Records that an entry was deleted in the vault, or kept although the deletion policy is `Delete`. */
export function recordRemoval(events: EventRecorder, object: KubeObject, deleted: boolean, note: string): void {
  const what = deleted
    ? ({ type: "Normal", reason: eventReasons.removed } as const)
    : ({ type: "Warning", reason: eventReasons.kept } as const);
  events.record({ ...regardingOf(object), ...what, action: "Delete", note });
}

function recordWarning(events: EventRecorder, object: KubeObject, reason: Reason, note: string): void {
  events.record({ ...regardingOf(object), type: "Warning", reason, action: "Push", note });
}

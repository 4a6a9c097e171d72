import { findCondition } from "../../api/conditions.ts";
import { eventReasons } from "../../api/reasons.ts";
import { API_GROUP, API_VERSION } from "../../api/kinds.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import type { Report } from "../../sync/report.ts";

const notes = {
  created: "recreated the missing target",
  updated: "updated the target to match the vault and the spec",
  repaired: "reverted an external change of the target",
  deleted: "deleted the target: the vault removed its last source at its delete_time",
} as const;

function versions(report: Report): string {
  const shown = [...report.versions].slice(0, 5).map(([key, version]) => `${key}=${version}`);
  return shown.length === 0 ? "" : `; versions: ${shown.join(", ")}${report.versions.size > shown.length ? ", …" : ""}`;
}

/**
 * Records the events of one reconcile. The first creation of a target is no event: the status contains it, and a cold start of
 * many resources should cost two writes each. A failure is recorded once; see docs/design/status.md#events.
 */
export function recordEvents(events: EventRecorder, { kind, metadata }: KubeObject, before: SyncStatus, report: Report): void {
  const regarding = {
    resource: { group: API_GROUP, version: API_VERSION, kind, plural: `${kind.toLowerCase()}s`, namespaced: true },
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
  };
  const { effect, readyCondition } = report;
  const isFirst = effect === "created" && before.syncedAt === undefined;
  if (effect !== "none" && !isFirst) {
    events.record({
      ...regarding,
      type: "Normal",
      reason: eventReasons[effect],
      action: "Sync",
      note: notes[effect] + versions(report),
    });
  }
  const isNewReason = findCondition(before.conditions, "Ready")?.reason !== readyCondition?.reason;
  if (readyCondition !== undefined && !readyCondition.ready && readyCondition.reason !== "Suspended" && isNewReason) {
    events.record({ ...regarding, type: "Warning", reason: readyCondition.reason, action: "Sync", note: readyCondition.message });
  }
}

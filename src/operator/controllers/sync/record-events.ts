import { findCondition } from "../../api/conditions.ts";
import { eventReasons } from "../../api/reasons.ts";
import { API_GROUP, API_VERSION } from "../../api/kinds.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import type { Outcome } from "./outcome.ts";

const notes = {
  created: "recreated the missing target",
  updated: "updated the target to match the vault and the spec",
  repaired: "reverted an external change of the target",
  deleted: "deleted the target: the vault removed its last source at its delete_time",
} as const;

function versions(outcome: Outcome): string {
  const shown = [...outcome.versions].slice(0, 5).map(([key, version]) => `${key}=${version}`);
  return shown.length === 0 ? "" : `; versions: ${shown.join(", ")}${outcome.versions.size > shown.length ? ", …" : ""}`;
}

/**
 * Tells a resource's readers what happened to it. The first creation is no event (its status says it, and a cold start of many resources
 * should cost two writes each), nor is a failure that was told before.
 */
export function recordEvents(events: EventRecorder, { kind, metadata }: KubeObject, before: SyncStatus, outcome: Outcome): void {
  const about = {
    resource: { group: API_GROUP, version: API_VERSION, kind, plural: `${kind.toLowerCase()}s`, namespaced: true },
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid ?? "",
  };
  const { effect, readyCondition } = outcome;
  const isFirst = effect === "created" && before.syncedAt === undefined;
  if (effect !== "none" && !isFirst) {
    events.record({
      ...about,
      type: "Normal",
      reason: eventReasons[effect],
      action: "Sync",
      note: notes[effect] + versions(outcome),
    });
  }
  const isExternalChange = findCondition(before.conditions, "Ready")?.reason !== readyCondition?.reason;
  if (readyCondition !== undefined && !readyCondition.ready && readyCondition.reason !== "Suspended" && isExternalChange) {
    events.record({ ...about, type: "Warning", reason: readyCondition.reason, action: "Sync", note: readyCondition.message });
  }
}

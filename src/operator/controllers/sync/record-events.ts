import { eventReasons } from "../../api/reasons.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Report } from "../../sync/report.ts";
import { fansOut } from "../../sync/sync-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { hadTarget } from "../../sync/sync-status.ts";
import { recordReadiness, regarding } from "../outcome/record-readiness.ts";

type Effect = Exclude<Report["effect"], "none"> | "recreated" | "moved";

function versions(report: Report): string {
  const shown = [...report.versions].slice(0, 5).map(([key, version]) => `${key}=${version}`);
  return shown.length === 0
    ? ""
    : `; versions: ${shown.join(", ")}${report.versions.size > shown.length ? ", …" : ""}`;
}

/**
 * Returns what happened to the target, compared with the one that was in sync last; `undefined` if
 * nothing did. A namespace begins with a status of all namespaces: that says nothing of its target.
 */
function effectOf(
  { effect }: Report,
  { kind: of, target: { kind, name } }: SyncResource,
  before: SyncStatus,
): Effect | undefined {
  if (effect === "none") return undefined;
  const { target, syncedAt } = before;
  const wasSynced = target !== undefined && syncedAt !== undefined;
  if (wasSynced && effect !== "deleted" && (target.kind !== kind || target.name !== name))
    return "moved";
  const isAgain = syncedAt !== undefined && (!fansOut(of) || hadTarget(before));
  return effect === "created" && isAgain ? "recreated" : effect;
}

function noteOf(
  effect: Effect,
  { kind, name }: SyncResource["target"],
  before: SyncStatus,
): string {
  switch (effect) {
    case "created":
      return `created the ${kind} ${name}`;
    case "recreated":
      return "recreated the missing target";
    case "moved":
      return `wrote the ${kind} ${name}, which spec.target names now instead of the ${before.target?.kind} ${before.target?.name}`;
    case "updated":
      return "updated the target to match the vault and the spec";
    case "repaired":
      return "reverted an external change of the target";
    case "deleted":
      return "deleted the target: nothing valid is left without the sources that are gone; see the condition Ready";
  }
}

/** States of a resource around one reconcile. */
export interface StatusChange {
  readonly before: SyncStatus;
  /** The status that was written. */
  readonly now: unknown;
}

/**
 * Records the events of one reconcile. A failure is recorded once; see
 * docs/design/status.md#events.
 */
export function recordEvents(
  events: EventRecorder,
  object: KubeObject,
  resource: SyncResource,
  report: Report,
  { before, now }: StatusChange,
): void {
  const effect = effectOf(report, resource, before);
  if (effect !== undefined) {
    const note = noteOf(effect, resource.target, before) + versions(report);
    events.record({
      ...regarding(object),
      type: "Normal",
      reason: eventReasons[effect],
      action: "Sync",
      note,
    });
  }
  // The creation of a complete target shows that the resource has recovered.
  if (effect !== "created" || report.readyCondition?.ready !== true)
    recordReadiness(events, object, "Sync", before, now);
}

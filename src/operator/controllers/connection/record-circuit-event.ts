import { connectionKinds } from "../../api/kinds.ts";
import { eventReasons } from "../../api/reasons.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";

/** Records that the operator stopped or resumed sending requests for a connection of either kind. */
export function recordCircuitEvent(events: EventRecorder, { kind, metadata }: KubeObject, open: boolean): void {
  const { namespace = "", name, uid = "" } = metadata;
  events.record({
    resource: connectionKinds[kind === "ClusterVaultConnection" ? kind : "VaultConnection"],
    namespace,
    name,
    uid,
    type: open ? "Warning" : "Normal",
    reason: open ? eventReasons.circuitOpened : eventReasons.circuitClosed,
    action: "List",
    note: open
      ? "several requests in a row failed: only the list is tried, with backoff; see the condition Ready"
      : "the vault responds again",
  });
}

import type { Logger } from "../../../lib/logger.ts";
import {
  clusterVaultConnectionKind,
  clusterVaultFileKind,
  clusterVaultSecretKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../api/kinds.ts";
import { readyIn } from "../../api/conditions.ts";
import { eventReasons } from "../../api/reasons.ts";
import type { EventRecord, EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";

type Ready = NonNullable<ReturnType<typeof readyIn>>;

/**
 * Reason of resources whose connection has the event: one outage is one event, not one for each
 * resource.
 */
const OF_CONNECTION = "ConnectionNotReady";

/**
 * Records that the condition Ready of a resource became False, or False for another reason, and
 * that the resource recovered from that.
 * @param before status before the change
 * @param now status that was written
 */
export function recordReadiness(
  events: EventRecorder,
  object: KubeObject,
  action: string,
  before: unknown,
  now: unknown,
): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready === undefined || (ready.status === earlier?.status && ready.reason === earlier.reason))
    return;
  const record = (event: Pick<EventRecord, "type" | "reason" | "note">): void =>
    events.record({ ...regarding(object), action, ...event });
  if (ready.status === "False" && ready.reason !== OF_CONNECTION) {
    record({ type: "Warning", reason: ready.reason, note: ready.message });
  } else if (ready.status === "True" && earlier?.status === "False")
    record({ type: "Normal", reason: eventReasons.recovered, note: recoveryNote(earlier, ready) });
}

/**
 * Returns the note of an event about a recovery. The time in the note makes each recovery a
 * separate event: the last one shown is the latest.
 */
export function recoveryNote(earlier: Ready, { message }: Ready): string {
  return `${message}; it was not Ready since ${earlier.lastTransitionTime ?? "an unknown time"}: ${earlier.reason}`;
}

const kinds = new Map(
  [
    vaultConnectionKind,
    clusterVaultConnectionKind,
    vaultSecretKind,
    vaultFileKind,
    clusterVaultSecretKind,
    clusterVaultFileKind,
    vaultPushKind,
  ].map((kind) => [kind.kind, kind]),
);

/** Returns the fields of an event that say which custom resource it is about. */
export function regarding({
  kind,
  metadata,
}: KubeObject): Pick<EventRecord, "resource" | "namespace" | "name" | "uid"> {
  const { namespace = "", name, uid = "" } = metadata;
  return { resource: kinds.get(kind) ?? vaultSecretKind, namespace, name, uid };
}

/** States in which a resource is not ready although nothing is wrong, with their messages. */
const EXPECTED = new Map([
  ["Progressing", "resource is not ready yet"],
  ["Suspended", "resource is suspended"],
]);

/**
 * Logs that the condition Ready of a resource has another status or reason: a warning if something
 * is wrong now. That a new resource is ready is not logged, because the write of its target is.
 */
export function logReadyChange(
  logger: Logger,
  resource: object,
  before: unknown,
  now: unknown,
): void {
  const [earlier, ready] = [readyIn(before), readyIn(now)];
  if (ready === undefined || (earlier?.status === ready.status && earlier.reason === ready.reason))
    return;
  const { status, reason, message } = ready;
  const fields = { ...resource, ready: status, reason, message };
  if (status === "True") {
    if (earlier !== undefined) logger.info(fields, "resource is ready again");
    return;
  }
  const expected = EXPECTED.get(reason);
  if (expected === undefined) logger.warn(fields, "resource is not ready");
  else logger.info(fields, expected);
}

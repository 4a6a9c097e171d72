import type { ReconcileResult } from "../../runtime/controller.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { type Report, reportOf } from "../../sync/report.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { isForced, wasReady } from "../../sync/sync-status.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { DONE, type Failure, lasting, waitFor } from "../outcome/outcome.ts";

/** The result of one reconcile: what to report, and when to reconcile again. */
export interface SyncResult {
  /** `undefined`: nothing can be reported yet. */
  readonly report: Report | undefined;
  readonly next: ReconcileResult;
}

/** The result of a reconcile that came to an end. */
export type Reported = SyncResult & { readonly report: Report };

/** Time in milliseconds after which an object is read again that the watch does not show. */
export const TARGET_WAIT_MS = 30_000;

/**
 * Returns the result of a reconcile that found another state of the target than the one it decided
 * for.
 */
export const targetChanged = (reason: string): SyncResult => ({
  report: undefined,
  next: { outcome: "retry", cause: "target", reason },
});

/** Returns a failure for content that must not replace the content of the target. */
export function rejected({ reason, message }: ReadyCondition): Failure {
  return { ...lasting(reason, `${message}; the target is left unchanged`, DONE), why: message };
}

/**
 * Returns the result of a failed reconcile. A failure that is retried says nothing about an
 * existing target: Ready reports other known problems, or stays unchanged. Without a target, Ready
 * reports the failure.
 */
export function failed(report: Report, { condition, next }: Failure, hasTarget: boolean): Reported {
  if (next.outcome === "done") return { report: { ...report, readyCondition: condition }, next };
  const { reason, message } = condition;
  const known = report.readyCondition?.ready === false ? report.readyCondition : undefined;
  const readyCondition = hasTarget ? known : condition;
  return { report: { ...report, readyCondition, reconciling: { reason, message } }, next };
}

/**
 * Waits for a connection that cannot be used. A target that was in sync stays Ready, unless a user
 * requests a sync now, or it was in sync with the list of another connection than `id`.
 */
export function awaitConnection(
  resource: SyncResource,
  before: SyncStatus,
  why: string,
  { id = before.connection, stale }: Partial<Pick<OpenConnection, "id" | "stale">> = {},
): SyncResult {
  const message = `${resource.connection.kind} ${resource.connection.name} is not ready: ${why}`;
  const isKept =
    wasReady(before, resource.generation) &&
    !isForced(resource, before) &&
    before.connection === id;
  const readyCondition = isKept ? undefined : notReady("ConnectionNotReady", message);
  return { report: reportOf(readyCondition, { stale }), next: waitFor("connection") };
}

import type { ConnectionKind } from "../../api/kinds.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ConnectionFacts } from "../../connection/connection-facts.ts";
import { listProblem } from "../../connection/connection-problem.ts";
import type { ReconcileResult, Wait } from "../../runtime/controller.ts";
import type { Attempt } from "../../sync/attempt-status.ts";
import type { SyncKind } from "../../sync/sync-key.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";

/**
 * Maximum wait in milliseconds for a state whose change requeues the resource: it limits the cost
 * of a missed change.
 */
export const MAX_WAIT_MS = 5 * 60_000;

export const DONE: ReconcileResult = { outcome: "done" };

/** Retries without a request until the watch shows the object that another writer has changed. */
export const AWAIT_WATCH: ReconcileResult = { outcome: "retry", cause: "api", reason: "Conflict" };

/** Returns the result of a reconcile that can only continue when this changes. */
export function waitFor(what: Wait["for"], atMostMs = MAX_WAIT_MS): ReconcileResult {
  return { outcome: "done", wait: { for: what, atMostMs } };
}

/** A failure of one reconcile: the condition that describes it, and when to try again. */
export interface Failure {
  readonly condition: ReadyCondition;
  readonly next: ReconcileResult;
  /** The cause alone, if `condition` says what becomes of the target too. */
  readonly why?: string;
}

/** Returns a failure of the vault that a retry may resolve. The backoff is at least `atLeastMs`. */
export function retryable(reason: Reason, message: string, atLeastMs?: number): Failure {
  return {
    condition: notReady(reason, message),
    next: { outcome: "retry", cause: "vault", reason, atLeastMs },
  };
}

/**
 * Returns a failure that lasts until something changes; it is checked after `wait` at the latest.
 */
export function lasting(reason: Reason, message: string, next: ReconcileResult): Failure {
  return { condition: notReady(reason, message), next };
}

/**
 * Returns the report of a forced sync whose list failed: content from the last list is not Ready. A
 * report that is not Ready stays unchanged.
 */
export function withListFailure<R extends Pick<Attempt, "readyCondition" | "reconciling">>(
  report: R,
  failure: Error,
  facts: ConnectionFacts,
  kind: ConnectionKind,
): R {
  if (report.readyCondition?.ready === false) return report;
  const { reason, message } = listProblem(failure, facts, kind);
  return { ...report, readyCondition: notReady(reason, message), reconciling: { reason, message } };
}

/** Action on a target, or on an entry that a VaultPush pushes to. */
type WriteAction = "created" | "updated" | "repaired" | "deleted" | "pushed" | "restored";

/** Observes the writes of targets and entries; implemented by the metrics. Must not throw. */
export interface WriteObserver {
  /** @param kind kind of the resource whose target or entry was written */
  written(kind: SyncKind | "VaultPush", action: WriteAction): void;
}

import type { ReconcilingCondition } from "../../sync/sync-status.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncFailure } from "./sync-failure.ts";

/** Result of one reconcile for the target. */
export interface Outcome {
  /** `undefined`: Ready stays unchanged. */
  readonly readyCondition: ReadyCondition | undefined;
  readonly reconciling: ReconcilingCondition | undefined;
  /** Change of the target; `repaired` when it reverted an external one. */
  readonly effect: "none" | "created" | "updated" | "repaired" | "deleted";
  /** The bytes differ from before; a new version may have the same bytes. */
  readonly changed: boolean;
  /** Version by key of the target, as far as known. */
  readonly versions: ReadonlyMap<string, number>;
  /** Delay in milliseconds after which to reconcile again. */
  readonly requeueAfterMs: number | undefined;
  /** The reconcile is to be retried with the backoff of the queue. */
  readonly retry: boolean;
}

/** Returns the outcome of a reconcile that did not change the target. */
export function unchangedOutcome(readyCondition: ReadyCondition | undefined, versions: ReadonlyMap<string, number>): Outcome {
  return {
    readyCondition,
    reconciling: undefined,
    effect: "none",
    changed: false,
    versions,
    requeueAfterMs: undefined,
    retry: false,
  };
}

/** Merges an outcome with an earlier one that never reached the status. */
export function mergeUnreported(now: Outcome, earlier: Outcome | undefined): Outcome {
  if (earlier === undefined) return now;
  return { ...now, effect: now.effect === "none" ? earlier.effect : now.effect, changed: now.changed || earlier.changed };
}

/**
 * Returns the outcome of a failed reconcile. A failure that is retried leaves Ready unchanged if there is a target; without a
 * target, Ready reports the failure.
 */
export function failedOutcome(failure: SyncFailure, versions: ReadonlyMap<string, number>, hasTarget: boolean): Outcome {
  const requeueAfterMs = failure.retryAfterMs;
  if (failure.kind === "final") return { ...unchangedOutcome(failure.readyCondition, versions), requeueAfterMs };
  const { reason, message } = failure;
  const readyCondition = hasTarget ? undefined : { ready: false, reason, message };
  return { ...unchangedOutcome(readyCondition, versions), reconciling: { reason, message }, requeueAfterMs, retry: true };
}

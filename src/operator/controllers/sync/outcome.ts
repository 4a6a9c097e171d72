import type { Busy } from "../../sync/sync-status.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { SyncFailure } from "./sync-failure.ts";

/** What one attempt at a target came to. */
export interface Outcome {
  /** `undefined`: Ready stays as it was. */
  readonly readyCondition: ReadyCondition | undefined;
  readonly busy: Busy | undefined;
  /** What happened to the target. */
  readonly effect: "none" | "created" | "updated" | "repaired" | "deleted";
  /** The bytes are other ones than before (a new version may hold the same). */
  readonly changed: boolean;
  /** The version under each key of the target, as far as it is known now. */
  readonly versions: ReadonlyMap<string, number>;
  /** Look again after this many milliseconds. */
  readonly requeueAfterMs: number | undefined;
  /** The attempt is to be made again, with the queue's growing pause. */
  readonly retry: boolean;
}

/** Nothing was done to the target. */
export function unchangedOutcome(readyCondition: ReadyCondition | undefined, versions: ReadonlyMap<string, number>): Outcome {
  return { readyCondition, busy: undefined, effect: "none", changed: false, versions, requeueAfterMs: undefined, retry: false };
}

/** An outcome together with an earlier one that nobody was told of. */
export function mergeUnreported(now: Outcome, earlier: Outcome | undefined): Outcome {
  if (earlier === undefined) return now;
  return { ...now, effect: now.effect === "none" ? earlier.effect : now.effect, changed: now.changed || earlier.changed };
}

/**
 * A failed attempt. One that is tried again leaves Ready as it was if the target was in step before; where there never was a target,
 * the failure is what there is to say.
 */
export function failedOutcome(failure: SyncFailure, versions: ReadonlyMap<string, number>, hasTarget: boolean): Outcome {
  const requeueAfterMs = failure.retryAfterMs;
  if (failure.kind === "final") return { ...unchangedOutcome(failure.readyCondition, versions), requeueAfterMs };
  const { reason, message } = failure;
  const readyCondition = hasTarget ? undefined : { ready: false, reason, message };
  return { ...unchangedOutcome(readyCondition, versions), busy: { reason, message }, requeueAfterMs, retry: true };
}

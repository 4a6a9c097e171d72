import type { Resolution } from "../../sync/resolve.ts";
import { EXPIRY_NOTICE_MS } from "../../sync/sync-status.ts";
import { WATCH_LAG_MS } from "../status/own-writes.ts";
import type { Outcome } from "./outcome.ts";

/** Delay before an object that has the name of the target is read again, in milliseconds: the watch does not show it. */
const CONFLICT_RETRY_MS = 30_000;

/**
 * Returns the delay in milliseconds until a resource has to be reconciled without any change: its own retry, the next deadline of
 * a source, or the time by which the watch must have shown a write. `undefined`: reconcile on the next change only.
 */
export function nextRequeue(outcome: Outcome, resolutions: readonly Resolution[], now: number): number | undefined {
  const delays = resolutions.flatMap((resolution) => {
    if (resolution.state === "found" && resolution.candidate.expiresAt !== undefined) {
      return [resolution.candidate.expiresAt - EXPIRY_NOTICE_MS - now];
    }
    return [];
  });
  if (outcome.requeueAfterMs !== undefined) delays.push(outcome.requeueAfterMs);
  if (outcome.readyCondition?.reason === "TargetConflict") delays.push(CONFLICT_RETRY_MS);
  if (outcome.effect !== "none") delays.push(WATCH_LAG_MS + 1_000);
  const due = delays.filter((ms) => ms > 0);
  return due.length === 0 ? undefined : Math.min(...due);
}

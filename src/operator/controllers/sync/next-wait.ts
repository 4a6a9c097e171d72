import type { Reason } from "../../api/reasons.ts";
import type { ReconcileResult, Wait } from "../../runtime/controller.ts";
import { isDropped } from "../../sync/decide.ts";
import type { Report } from "../../sync/report.ts";
import type { Resolution } from "../../sync/resolve.ts";
import { EXPIRY_NOTICE_MS } from "../../sync/item-conditions.ts";
import { TARGET_WAIT_MS } from "./sync-result.ts";

/** Reasons that concern an object of another owner. That owner may change it. */
const OF_OTHERS: ReadonlySet<Reason> = new Set(["TargetConflict", "TargetMissing", "AdoptionHeld"]);

/** Returns what an item makes its resource wait for. */
function waitsOf(resolution: Resolution, now: number): Wait[] {
  const waits: Wait[] = [];
  if ("gate" in resolution) waits.push({ for: "time", atMostMs: resolution.gate?.opensInMs ?? 0 });
  if (resolution.state === "found") {
    const { expiresAt = now } = resolution.candidate;
    waits.push({ for: "time", atMostMs: expiresAt - EXPIRY_NOTICE_MS - now });
  }
  if (resolution.state === "missing")
    waits.push({ for: "connection", atMostMs: resolution.provenInMs ?? 0 });
  // Nothing names the source of a removed key any more: the next reconcile reports the state
  // without it.
  const hasNamesake = resolution.state === "missing" && resolution.namesake !== undefined;
  if (isDropped(resolution) && (resolution.item.foundBy !== undefined || hasNamesake))
    waits.push({ for: "time", atMostMs: TARGET_WAIT_MS });
  return waits;
}

/** Returns the shortest wait; a time that is not positive is no wait. */
const shortestOf = (waits: readonly Wait[]): Wait | undefined =>
  waits
    .filter(({ atMostMs }) => atMostMs > 0 && Number.isFinite(atMostMs))
    .toSorted((a, b) => a.atMostMs - b.atMostMs)[0];

/**
 * Adds to a result what a report makes it wait for: the notice before an item expires, and an
 * object that has the name of the target. The shortest wait counts; a retry stays unchanged.
 * `merges`: the resource adds keys to an object that belongs to another owner, maybe none yet.
 */
export function nextWait(
  next: ReconcileResult,
  { readyCondition, resolutions = [] }: Report,
  now: number,
  merges: boolean,
): ReconcileResult {
  if (next.outcome === "retry") return next;
  const reason = readyCondition?.reason ?? "Synced";
  const notReady = readyCondition?.ready === false && reason !== "Suspended";
  const waits = resolutions.flatMap((resolution) => waitsOf(resolution, now));
  if (next.wait !== undefined) waits.unshift(next.wait);
  // The watch does not show an object without the operator's label.
  if (OF_OTHERS.has(reason) || (merges && notReady))
    waits.push({ for: "target", atMostMs: TARGET_WAIT_MS });
  return { outcome: "done", wait: shortestOf(waits), ...(notReady && { notReady }) };
}

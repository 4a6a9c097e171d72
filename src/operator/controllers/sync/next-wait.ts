import type { Reason } from "../../api/reasons.ts";
import type { ReconcileResult, Wait } from "../../runtime/controller.ts";
import { isDropped } from "../../sync/decide.ts";
import type { Report } from "../../sync/report.ts";
import { EXPIRY_NOTICE_MS } from "../../sync/sync-status.ts";
import { TARGET_WAIT_MS } from "./sync-result.ts";

/** Reasons that concern an object of another owner. That owner may change it. */
const OF_OTHERS: ReadonlySet<Reason> = new Set(["TargetConflict", "TargetMissing", "AdoptionHeld"]);

/**
 * Adds to a result what a report makes it wait for: the notice before an item expires, and an
 * object that has the name of the target. The shortest wait counts; a retry stays unchanged.
 */
export function nextWait(
  next: ReconcileResult,
  { readyCondition, resolutions }: Report,
  now: number,
): ReconcileResult {
  if (next.outcome === "retry") return next;
  const waits: Wait[] = next.wait === undefined ? [] : [next.wait];
  const add = (what: Wait["for"], atMostMs = 0): void => void waits.push({ for: what, atMostMs });
  for (const resolution of resolutions ?? []) {
    if (resolution.state === "missing") add("connection", resolution.provenInMs);
    // Nothing names the source of a removed key any more: the next reconcile reports the state
    // without it.
    if (isDropped(resolution) && resolution.item.foundBy !== undefined) add("time", TARGET_WAIT_MS);
    if (resolution.state !== "found") continue;
    add("time", resolution.refreshInMs);
    add("time", (resolution.candidate.expiresAt ?? now) - EXPIRY_NOTICE_MS - now);
  }
  // The watch does not show an object without the operator's label.
  if (readyCondition !== undefined && OF_OTHERS.has(readyCondition.reason))
    add("target", TARGET_WAIT_MS);
  const [shortest] = waits
    .filter(({ atMostMs }) => atMostMs > 0 && Number.isFinite(atMostMs))
    .sort((a, b) => a.atMostMs - b.atMostMs);
  const notReady = readyCondition?.ready === false && readyCondition.reason !== "Suspended";
  return { outcome: "done", wait: shortest, ...(notReady && { notReady }) };
}

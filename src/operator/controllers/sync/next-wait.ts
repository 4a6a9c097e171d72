import { isStalled, type Reason } from "../../api/reasons.ts";
import type { ReconcileResult, Wait } from "../../runtime/controller.ts";
import { isDropped } from "../../sync/gone-claims.ts";
import type { Report } from "../../sync/report.ts";
import type { Resolution } from "../../sync/resolution.ts";
import type { Expiry } from "../../sync/expiry.ts";
import { TARGET_WAIT_MS } from "./sync-result.ts";

/** Reasons that concern an object of another owner. That owner may change it. */
const OF_OTHERS: ReadonlySet<Reason> = new Set(["TargetConflict", "TargetMissing", "AdoptionHeld"]);

/** Returns what an item makes its resource wait for. */
function waitsOf(resolution: Resolution): Wait[] {
  const waits: Wait[] = [];
  if ("gate" in resolution) waits.push({ for: "time", atMostMs: resolution.gate?.opensInMs ?? 0 });
  if (resolution.state === "missing")
    waits.push({ for: "connection", atMostMs: resolution.provenInMs ?? 0 });
  // Nothing names the source of a removed key any more: the next reconcile reports the state
  // without it.
  const hasNamesake = resolution.state === "missing" && resolution.namesake !== undefined;
  if (isDropped(resolution) && (resolution.item.foundBy !== undefined || hasNamesake))
    waits.push({ for: "time", atMostMs: TARGET_WAIT_MS });
  return waits;
}

/** Returns what the reason of the condition Ready makes a resource wait for. */
function waitsOfReason(
  reason: Reason,
  notReady: boolean,
  { merges, firstTargetDueInMs = 0 }: Situation,
): Wait[] {
  // The watch does not show an object without the operator's label.
  const isUnseen = OF_OTHERS.has(reason) || (merges && notReady);
  const isWaiting = notReady && !isStalled(reason);
  return [
    { for: "target", atMostMs: isUnseen ? TARGET_WAIT_MS : 0 },
    { for: "time", atMostMs: isWaiting ? firstTargetDueInMs : 0 },
  ];
}

/** Returns the shortest wait; a time that is not positive is no wait. */
const shortestOf = (waits: readonly Wait[]): Wait | undefined =>
  waits
    .filter(({ atMostMs }) => atMostMs > 0 && Number.isFinite(atMostMs))
    .toSorted((a, b) => a.atMostMs - b.atMostMs)[0];

interface Situation {
  /** In milliseconds since the epoch. */
  readonly now: number;
  /** Everything of its items that expires. */
  readonly expiries: readonly Expiry[];
  /** The resource adds keys to an object that belongs to another owner, maybe none yet. */
  readonly merges: boolean;
  /** Time after which the resource is Stalled without a target, in milliseconds. */
  readonly firstTargetDueInMs?: number | undefined;
}

/**
 * Adds to a result what a report makes it wait for: the notice before an item expires, an object
 * that has the name of the target, and the time for a first target. The shortest wait counts; a
 * retry stays unchanged.
 */
export function nextWait(
  next: ReconcileResult,
  { readyCondition, resolutions = [] }: Report,
  situation: Situation,
): ReconcileResult {
  if (next.outcome === "retry") return next;
  const { now, expiries } = situation;
  const notices = expiries.map(({ noticeAt }): Wait => ({ for: "time", atMostMs: noticeAt - now }));
  const waits = [...resolutions.flatMap(waitsOf), ...notices];
  if (next.wait !== undefined) waits.unshift(next.wait);
  const notReady = readyCondition?.ready === false && readyCondition.reason !== "Suspended";
  if (readyCondition !== undefined)
    waits.push(...waitsOfReason(readyCondition.reason, notReady, situation));
  return { outcome: "done", wait: shortestOf(waits), ...(notReady && { notReady }) };
}

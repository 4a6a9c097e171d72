import { isStalled } from "../../api/reasons.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { waitFor } from "../sync/sync-result.ts";
import type { PushOutcome } from "./push-context.ts";
import type { PushReport } from "./push-status.ts";

/** The meaning of the outcomes of all keys for the resource. */
export interface PushSummary {
  readonly report: Pick<PushReport, "readyCondition" | "reconciling">;
  readonly next: ReconcileResult;
}

/** Maximum number of problems in a message. */
const SHOWN = 3;

/**
 * Returns the Ready condition: the problems of one reason, first of all one that requires action.
 */
function readyOf(outcomes: readonly PushOutcome[]): ReadyCondition {
  const problems = outcomes.flatMap(({ problem, failure }) => problem ?? failure?.condition ?? []);
  const worst = problems.find(({ reason }) => isStalled(reason)) ?? problems[0];
  if (worst === undefined) {
    const remarks = outcomes.flatMap(({ remark }) => remark ?? []).slice(0, SHOWN);
    return {
      ready: true,
      reason: "Synced",
      message: ["the vault has the bytes of the Secret", ...remarks].join("; "),
    };
  }
  const alike = [
    ...new Set(
      problems.filter(({ reason }) => reason === worst.reason).map(({ message }) => message),
    ),
  ];
  const rest = alike.length > SHOWN ? `; and ${alike.length - SHOWN} more` : "";
  return notReady(worst.reason, alike.slice(0, SHOWN).join("; ") + rest);
}

/**
 * Returns what to report and when to continue: after a failure as it says, otherwise when the
 * Secret is checked again.
 */
export function summarize(
  outcomes: readonly PushOutcome[],
  refreshIntervalMs: number,
): PushSummary {
  const readyCondition = readyOf(outcomes);
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  const retried = failures.find(({ next }) => next.outcome === "retry");
  if (retried !== undefined) {
    const { reason, message } = retried.condition;
    return { report: { readyCondition, reconciling: { reason, message } }, next: retried.next };
  }
  const waits = outcomes.flatMap(({ waitMs }) => waitMs ?? []);
  return {
    report: { readyCondition },
    next: waitFor("time", Math.min(refreshIntervalMs, ...waits)),
  };
}

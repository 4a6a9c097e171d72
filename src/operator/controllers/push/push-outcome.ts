import { isVaultError } from "../../vault-client/vault-error.ts";
import { entryFailure } from "../outcome/entry-failure.ts";
import { type Failure, lasting, waitFor } from "../outcome/outcome.ts";
import type { WritableEntry } from "../../push/listed-entry.ts";
import { entryOf, type PushItem } from "../../push/push-resource.ts";
import { isStalled } from "../../api/reasons.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { PushReport } from "../../push/push-status.ts";
import { firstOf } from "../../lib/first-of.ts";

/** The result for one key. Without a problem and a failure, the vault has its bytes. */
export interface PushOutcome {
  readonly item: PushItem;
  readonly problem?: ReadyCondition;
  readonly failure?: Failure;
  /** Further keys would fail as well. */
  readonly ends?: boolean;
  /** Time in milliseconds until the key can be pushed. */
  readonly waitMs?: number;
  readonly effect?: { readonly restored: boolean; readonly version: number };
  /** Remark for the Ready condition. */
  readonly remark?: string | undefined;
}

/** The meaning of the outcomes of all keys for the resource. */
export interface PushSummary {
  readonly report: Pick<PushReport, "readyCondition" | "reconciling">;
  readonly next: ReconcileResult;
}

/** Maximum number of problems in a message. */
const SHOWN = 3;

/** Returns the Ready condition: the problems of one reason, preferably one that requires action. */
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
  return notReady(worst.reason, firstOf(alike, { max: SHOWN, separator: "; " }));
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

/** Maps an error of the vault while an entry is compared or written. @throws any other error */
export function pushFailure(error: unknown, item: PushItem, { owner }: WritableEntry): Failure {
  if (!isVaultError(error)) throw error;
  const failure = entryFailure(error, entryOf(item), true);
  if (error.kind !== "permanent" || error.code !== "forbidden" || owner === undefined)
    return failure;
  const message = `${entryOf(item)}: the account may only read it: ask ${owner} to share it with permission RW`;
  return lasting(failure.condition.reason, message, failure.next);
}

/**
 * Reports whether a failure concerns the whole connection: pushing further keys would fail as well.
 */
export function concernsConnection(error: unknown): boolean {
  return (
    !isVaultError(error) || (error.kind !== "permanent" && error.kind !== "unexpected-response")
  );
}

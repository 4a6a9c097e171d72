import { type ConditionNow, mergeConditions } from "../../api/conditions.ts";
import { isStalled, type Reason } from "../../api/reasons.ts";
import type { ConditionType } from "../../api/status.ts";
import { type PushItemStatus, type PushStatus, pushStatus } from "../../api/vault-push.ts";
import { defined } from "../../../lib/defined.ts";
import { datedMessage, staleCondition, type Staleness } from "../../sync/staleness.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";

/** Findings and effects of one reconcile of a VaultPush. */
export interface PushReport {
  /** `undefined`: Ready stays unchanged, because nothing new is known. */
  readonly readyCondition: ReadyCondition | undefined;
  /** Why the last attempt is being retried. */
  readonly reconciling?: { readonly reason: Reason; readonly message: string } | undefined;
  /** Set while the lists of the connection are too old. */
  readonly stale?: Staleness | undefined;
  /** Identity of the vault and the items that were pushed to it; `undefined`: unchanged. */
  readonly pushed?: { readonly vault: string; readonly items: readonly PushItemStatus[] } | undefined;
  /** Value of vaultsync.dev/force-sync, if this reconcile was a forced sync. */
  readonly forced?: string | undefined;
}

/** Parses a stored status. A malformed one counts as empty and is rewritten. */
export function readPushStatus(status: unknown): PushStatus {
  return pushStatus.safeParse(status ?? {}).data ?? {};
}

function conditionsNow({ readyCondition, reconciling, stale }: PushReport): ConditionNow[] {
  const conditions: ConditionNow[] = [];
  if (readyCondition !== undefined) {
    const { ready, reason, message } = readyCondition;
    const status = reason === "Suspended" ? "Unknown" : ready ? "True" : "False";
    conditions.push({ type: "Ready", status, reason, message });
    if (!ready && isStalled(reason)) conditions.push({ type: "Stalled", status: "True", reason, message });
  }
  if (reconciling !== undefined) conditions.push({ type: "Reconciling", status: "True", ...reconciling });
  if (stale !== undefined) conditions.push(staleCondition(stale, "nothing is pushed"));
  return conditions;
}

/** Returns the status after one reconcile. It equals `before` if nothing changed, so that the caller can skip the write. */
export function nextPushStatus(before: PushStatus, found: PushReport, generation: number, now: number): object {
  // What was never pushed cannot be out of date.
  const report = before.syncedAt === undefined ? { ...found, stale: undefined } : found;
  const { readyCondition, reconciling, pushed, forced, stale } = report;
  const isAttempt = readyCondition !== undefined || reconciling !== undefined;
  const observedGeneration = isAttempt ? generation : (before.observedGeneration ?? generation);
  const keep: ConditionType[] = readyCondition === undefined ? ["Ready", "Stalled"] : [];
  if (!isAttempt) keep.push("Reconciling");
  const pushedAt = (pushed?.items ?? []).flatMap((item) => item.pushedAt ?? []);
  return defined({
    observedGeneration,
    conditions: [
      ...(before.conditions ?? [])
        .filter(({ type }) => keep.some((kept) => kept === type))
        .map((one) =>
          one.status === "True" && one.type === "Ready" ? { ...one, message: datedMessage(one.message, stale) } : one,
        ),
      ...mergeConditions(before.conditions, conditionsNow(report), observedGeneration, new Date(now).toISOString()),
    ],
    vault: pushed?.vault ?? before.vault,
    items: pushed?.items ?? before.items,
    lastForceSync: forced ?? before.lastForceSync,
    syncedAt: [...pushedAt, ...(before.syncedAt === undefined ? [] : [before.syncedAt])].sort().at(-1),
  });
}

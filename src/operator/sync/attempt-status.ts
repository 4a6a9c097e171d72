import { type ConditionNow, mergeConditions } from "../api/conditions.ts";
import { isStalled } from "../api/reasons.ts";
import type { Condition, ConditionType } from "../api/status.ts";
import type { ReadyCondition } from "./ready-condition.ts";
import type { Report } from "./report.ts";
import { datedMessage, staleCondition, type Staleness } from "./staleness.ts";

/** The part of a status that every kind reports in the same way. */
interface AttemptStatus {
  readonly observedGeneration?: number | undefined;
  readonly conditions?: readonly Condition[] | undefined;
}

/** The outcome of one reconcile, as far as every kind reports it. */
export interface Attempt extends Partial<Pick<Report, "reconciling" | "stale">> {
  /** `undefined`: Ready stays unchanged, because nothing new is known. */
  readonly readyCondition: ReadyCondition | undefined;
  /** Conditions about the items; `undefined`: nothing new is known about them. */
  readonly items: readonly ConditionNow[] | undefined;
  /** Describes what happens while the lists are too old. */
  readonly consequence: string;
  readonly generation: number;
  /** The resource had time enough, and has not reached anything yet. */
  readonly isOverdue?: boolean;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** Time in milliseconds within which a resource reaches something, or fails: it is overdue then. */
export const OVERDUE_MS = 5 * 60_000;

/** Types of the conditions about items. */
const ITEM_TYPES: readonly ConditionType[] = ["UpdateAvailable", "Held", "ExpiringSoon"];

const isReady = ({ type, status }: Condition): boolean => type === "Ready" && status === "True";

/**
 * Returns the condition Ready, and Stalled if only a user can resolve what is wrong, or if that has
 * lasted too long.
 */
export function readyConditions(
  { ready, reason, message }: ReadyCondition,
  stale?: Staleness,
  isOverdue = false,
): [ConditionNow, ...ConditionNow[]] {
  const status = reason === "Suspended" ? "Unknown" : ready ? "True" : "False";
  const condition: ConditionNow = {
    type: "Ready",
    status,
    reason,
    message: ready ? datedMessage(message, stale) : message,
  };
  return status === "False" && (isOverdue || isStalled(reason))
    ? [condition, { type: "Stalled", status: "True", reason, message }]
    : [condition];
}

function conditionsNow({
  readyCondition,
  reconciling,
  stale,
  consequence,
  items = [],
  isOverdue,
}: Attempt): ConditionNow[] {
  const [ready, ...stalled] =
    readyCondition === undefined ? [] : readyConditions(readyCondition, stale, isOverdue);
  return [
    ...(ready === undefined ? [] : [ready]),
    // Tools that wait for the resource stop at Stalled, and go on waiting at Reconciling.
    ...(reconciling === undefined || (isOverdue === true && stalled.length > 0)
      ? []
      : [{ type: "Reconciling", status: "True", ...reconciling } as const]),
    ...stalled,
    ...(stale === undefined ? [] : [staleCondition(stale, consequence)]),
    ...items,
  ];
}

/**
 * Returns the conditions that this reconcile has no information about: what was in sync may be out
 * of date since.
 */
function keptConditions(
  { conditions = [] }: AttemptStatus,
  { readyCondition, reconciling, items, stale }: Attempt,
): Condition[] {
  const types: string[] = [];
  const isUnknown =
    readyCondition === undefined && reconciling === undefined && items === undefined;
  // Only a list ends an outage: a new client of the connection has none yet.
  if (isUnknown && stale === undefined && conditions.some(({ type }) => type === "Stale"))
    return [...conditions];
  if (readyCondition === undefined) types.push("Ready", "Stalled");
  if (isUnknown) types.push("Reconciling");
  if (items === undefined) types.push(...ITEM_TYPES);
  return conditions
    .filter(({ type }) => types.includes(type))
    .map((one) => (isReady(one) ? { ...one, message: datedMessage(one.message, stale) } : one));
}

/**
 * Returns the generation and the conditions after one reconcile. Both equal their values in
 * `before` if nothing changed.
 */
export function attemptStatus(before: AttemptStatus, attempt: Attempt) {
  const { readyCondition, reconciling, generation, now } = attempt;
  const isAttempt = readyCondition !== undefined || reconciling !== undefined;
  const observedGeneration = isAttempt ? generation : (before.observedGeneration ?? generation);
  const timestamp = new Date(now).toISOString();
  const conditions = mergeConditions(
    before.conditions,
    conditionsNow(attempt),
    observedGeneration,
    timestamp,
  );
  return { observedGeneration, conditions: [...keptConditions(before, attempt), ...conditions] };
}

import { z } from "zod";
import { isObject } from "../../lib/is-object.ts";
import type { Reason } from "./reasons.ts";
import { conditionTypes, type Condition, type ConditionType } from "./status.ts";

const readyForm = z.object({
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string().optional().catch(undefined),
});

/** A condition before it is compared with the earlier one. */
export interface ConditionNow {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/**
 * Maximum length of a message in characters. The API server limits the conditions of built-in kinds
 * similarly.
 */
const MAX_MESSAGE = 1024;

/**
 * Truncates a message and replaces lone surrogates: the API server would return a different text,
 * and every reconcile would write it again.
 */
const bounded = (message: string): string => message.slice(0, MAX_MESSAGE).toWellFormed();

/**
 * Returns the conditions to write: exactly the conditions in `now` (one that is no longer true is
 * omitted), each with the time of the last change of its status. `timestamp` is RFC 3339.
 */
export function mergeConditions(
  before: readonly Condition[] | undefined,
  now: readonly ConditionNow[],
  generation: number,
  timestamp: string,
): Condition[] {
  return now.map((condition) => {
    const earlier = before?.find(({ type }) => type === condition.type);
    return {
      ...condition,
      message: bounded(condition.message),
      observedGeneration: generation,
      lastTransitionTime:
        earlier?.status === condition.status ? earlier.lastTransitionTime : timestamp,
    };
  });
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

const conditionsIn = (status: unknown): readonly unknown[] =>
  isObject(status) && Array.isArray(status["conditions"]) ? status["conditions"] : [];

/**
 * Returns the condition Ready of a status of any kind; `undefined` if it is absent or malformed.
 */
export function readyIn(status: unknown): z.output<typeof readyForm> | undefined {
  return readyForm.safeParse(
    conditionsIn(status).find((condition) => isObject(condition) && condition["type"] === "Ready"),
  ).data;
}

/**
 * Returns the types of the conditions other than Ready that are True in a status of any kind, and
 * Converged if it is False; condition types of other controllers are ignored. `AwaitingApproval` is
 * a reason of UpdateAvailable, and the one that only a user ends.
 */
export function notableConditionsIn(status: unknown): (ConditionType | "AwaitingApproval")[] {
  const conditions = conditionsIn(status).filter(isObject);
  const isNotable = (type: ConditionType): boolean =>
    conditions.some(
      (one) => one["type"] === type && one["status"] === (type === "Converged" ? "False" : "True"),
    );
  const awaitsApproval = conditions.some(
    ({ type, reason }) => type === "UpdateAvailable" && reason === "AwaitingApproval",
  );
  return [
    ...conditionTypes.filter((type) => type !== "Ready" && isNotable(type)),
    ...(awaitsApproval ? (["AwaitingApproval"] as const) : []),
  ];
}

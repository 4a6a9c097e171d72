import type { Reason } from "./reasons.ts";
import type { Condition, ConditionType } from "./status.ts";

/** A condition before it is compared with the earlier one. */
export interface ConditionNow {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly message: string;
}

/** API servers refuse longer messages in other kinds, and nobody reads them. */
const MAX_MESSAGE = 1024;

/** Half a character, cut off or received, would come back from the API server as another text, and be news for ever. */
const bounded = (message: string): string => message.slice(0, MAX_MESSAGE).toWellFormed();

/**
 * The conditions to write: exactly those of `now` (one that is no longer true is left out), each with the moment its status last changed.
 * `moment` is RFC 3339.
 */
export function mergeConditions(
  before: readonly Condition[] | undefined,
  now: readonly ConditionNow[],
  generation: number,
  moment: string,
): Condition[] {
  return now.map((condition) => {
    const earlier = before?.find(({ type }) => type === condition.type);
    return {
      ...condition,
      message: bounded(condition.message),
      observedGeneration: generation,
      lastTransitionTime: earlier?.status === condition.status ? earlier.lastTransitionTime : moment,
    };
  });
}

export function findCondition(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

import type { ConditionNow } from "../api/conditions.ts";
import type { Reason } from "../api/reasons.ts";

/**
 * The lists of a connection are too old. Both members stay the same while that lasts, whatever else
 * fails: no status is written again.
 */
export interface Staleness {
  /**
   * Time of the last list before that, in milliseconds since the epoch; if there was no list, the
   * time at which the connection was opened.
   */
  readonly since: number;
  readonly reason: Reason;
}

/** Text that a message of Ready ends with while the lists are too old. */
const ADDITION = /, but the vault was not listed reliably since \S+$/u;

const timeOf = ({ since }: Staleness): string => new Date(since).toISOString();

/** @param consequence says what happens to the target while the lists are too old */
export function staleCondition(stale: Staleness, consequence: string): ConditionNow {
  const message = `the vault was not listed reliably since ${timeOf(stale)}; ${consequence}`;
  return { type: "Stale", status: "True", reason: stale.reason, message };
}

/**
 * Returns the message of a Ready resource, with the time since when its lists are too old, if they
 * are.
 */
export function datedMessage(message: string, stale: Staleness | undefined): string {
  const plain = message.replace(ADDITION, "");
  return stale === undefined
    ? plain
    : `${plain}, but the vault was not listed reliably since ${timeOf(stale)}`;
}

import type { ConditionNow } from "../api/conditions.ts";
import type { Reason } from "../api/reasons.ts";

/**
 * The lists of a connection are too old. Both members stay the same while that lasts, whatever
 * fails meanwhile, so that no status is written again.
 */
export interface Staleness {
  /**
   * Time of the last list before, in milliseconds since the epoch; of the opening of the connection
   * if there was none.
   */
  readonly since: number;
  readonly reason: Reason;
}

/** Text that a message of Ready ends with while the lists are too old. */
const ADDITION = /, but the vault was not listed reliably since \S+$/u;

const timeOf = ({ since }: Staleness): string => new Date(since).toISOString();

/** @param consequence says what happens to the target meanwhile */
export function staleCondition(stale: Staleness, consequence: string): ConditionNow {
  const message = `the vault was not listed reliably since ${timeOf(stale)}; ${consequence}`;
  return { type: "Stale", status: "True", reason: stale.reason, message };
}

/**
 * Returns the message of a resource that is Ready, which says since when that is not known any
 * more.
 */
export function datedMessage(message: string, stale: Staleness | undefined): string {
  const plain = message.replace(ADDITION, "");
  return stale === undefined
    ? plain
    : `${plain}, but the vault was not listed reliably since ${timeOf(stale)}`;
}

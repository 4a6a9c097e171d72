import { Backoff } from "../../../lib/backoff.ts";
import { systemClock } from "../../../lib/clock.ts";
import { systemRandom } from "../../../lib/random.ts";
import { printNotes } from "./report.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Maximum time in ms between two attempts while the vault cannot be read. */
const MAX_WAIT_MS = 60_000;

/** Result of one look at the vault. */
export interface Poll<T> {
  /** Ends the polling. */
  readonly result?: T;
  /** Reasons why something keeps its values; printed when they change. */
  readonly problems: readonly string[];
  /** The vault failed: the next attempt waits longer. */
  readonly isRetry?: boolean;
}

/** Times of the attempts, and what to print of failures. */
export interface PollOptions {
  readonly intervalMs: number;
  /** Time in ms before the first attempt. */
  readonly firstMs?: number;
  /** Text before the reasons. */
  readonly prefix: string;
}

/**
 * Polls until there is a result. The time between attempts grows with failures. Resolves with
 * `undefined` when the signal is aborted.
 */
export async function poll<T>(
  attempt: () => Promise<Poll<T>>,
  { intervalMs, firstMs = intervalMs, prefix }: PollOptions,
  signal: AbortSignal,
): Promise<T | undefined> {
  const maxMs = Math.max(intervalMs, MAX_WAIT_MS);
  const backoff = new Backoff({ baseMs: 2 * intervalMs, maxMs }, systemRandom);
  let shown = "";
  let waitMs = firstMs;
  for (;;) {
    try {
      await systemClock.sleep(waitMs, signal);
      const { result, problems, isRetry = false } = await attempt();
      if (result !== undefined) return result;
      shown = show(problems.join("; "), prefix, shown);
      if (!isRetry) backoff.reset();
      waitMs = isRetry ? backoff.next() : intervalMs;
    } catch (error) {
      if (signal.aborted) return undefined;
      shown = show(messageOf(error), prefix, shown);
      waitMs = backoff.next();
    }
  }
}

/** Prints a text that differs from the last one, and returns it. */
function show(text: string, prefix: string, shown: string): string {
  if (text !== shown && text !== "") printNotes([`vaultsync: ${prefix}: ${text}`]);
  return text;
}

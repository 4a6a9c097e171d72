import type { Clock } from "../../lib/clock.ts";

export interface ResyncOptions {
  /** Time in milliseconds in which every key is requeued once; 0 turns it off. */
  readonly everyMs: number;
  /** Returns the keys of all objects that exist. */
  readonly keys: () => Iterable<string>;
}

/** Minimum time between two steps in milliseconds. */
const STEP_MS = 1_000;
/**
 * Minimum number of keys of a step. A single reconcile, seconds after the last, costs three times
 * as much as one of fifty.
 */
const STEP_KEYS = 50;

/**
 * Requeues every key once per round of `everyMs`, in steps that are spread evenly, until the signal
 * is aborted. A key that appears during a round is in the next one. A missed wake-up thus delays a
 * resource, but not permanently.
 */
export async function resync(
  { everyMs, keys }: ResyncOptions,
  requeue: (key: string) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (everyMs <= 0) return;
  while (!signal.aborted) {
    const round = [...keys()];
    const steps = Math.min(
      Math.ceil(round.length / STEP_KEYS),
      Math.max(1, Math.floor(everyMs / STEP_MS)),
    );
    for (let step = 0; step < steps && !signal.aborted; step += 1) {
      const share = round.slice(
        Math.floor((step * round.length) / steps),
        Math.floor(((step + 1) * round.length) / steps),
      );
      await pause(everyMs / steps);
      if (!signal.aborted) for (const key of share) requeue(key);
    }
    if (steps === 0) await pause(everyMs);
  }

  /** Returns when the time has passed or the signal was aborted. */
  function pause(ms: number): Promise<void> {
    return clock.sleep(ms, signal).catch(() => {});
  }
}

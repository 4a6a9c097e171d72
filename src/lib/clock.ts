import { setTimeout as delay } from "node:timers/promises";

/** A cancellable timer. Disposing it twice, or after it fired, does nothing. */
export interface Timer extends Disposable {
  [Symbol.dispose](): void;
}

/**
 * The port for time (docs/design/engine.md#ports). `now` is wall-clock time in milliseconds since
 * the epoch and may jump; `monotonic` is in milliseconds from an arbitrary start and never goes
 * back. Lifetimes and backoffs are counted with `monotonic`; timestamps of the vault are compared
 * with `now`.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `fire` once after `ms` (0 or more), unless disposed before. A pending timer does not keep
   * the process alive.
   */
  timer(ms: number, fire: () => void): Timer;
}

/** Maximum delay of one Node timer; longer delays chain several. */
const MAX_DELAY_MS = 2 ** 31 - 1;

class NodeTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;

  constructor(ms: number, fire: () => void) {
    this.#arm(ms, fire);
  }

  #arm(ms: number, fire: () => void): void {
    const step = Math.min(Math.max(0, ms), MAX_DELAY_MS);
    this.#handle = setTimeout(
      () => (step < ms ? this.#arm(ms - step, fire) : fire()),
      step,
    ).unref();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#handle);
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      let left = ms;
      while (left > MAX_DELAY_MS) {
        await delay(MAX_DELAY_MS, undefined, signal && { signal });
        left -= MAX_DELAY_MS;
      }
      await delay(Math.max(0, left), undefined, signal && { signal });
    } catch (error) {
      // Node rejects with its own AbortError and gives the signal's reason only as the cause.
      signal?.throwIfAborted();
      throw error;
    }
  },
  timer: (ms, fire) => new NodeTimer(ms, fire),
};

/**
 * Resolves in the next turn of the event loop. A long computation awaits it between its slices, to
 * let other work run.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

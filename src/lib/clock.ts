import { setTimeout as delay } from "node:timers/promises";

/** A cancellable timer. Disposing it twice, or after it fired, does nothing. */
export interface Timer extends Disposable {
  [Symbol.dispose](): void;
}

/**
 * The port through which everything learns the time and waits (design: engine, "Ports").
 * `now` is wall-clock milliseconds since the epoch and may jump; `monotonic` is milliseconds from an arbitrary start and never goes
 * back. Lifetimes and back-offs are counted on `monotonic`, moments that the vault names on `now`.
 */
export interface Clock {
  now(): number;
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` once after `ms` (0 or more), unless disposed before. A pending timer does not keep the process alive. */
  timer(ms: number, fire: () => void): Timer;
}

/** The longest delay one Node timer can hold; a longer one is chained. */
const MAX_DELAY_MS = 2 ** 31 - 1;

class NodeTimer implements Timer {
  #handle: NodeJS.Timeout | undefined;

  constructor(ms: number, fire: () => void) {
    this.#arm(ms, fire);
  }

  #arm(ms: number, fire: () => void): void {
    const step = Math.min(Math.max(0, ms), MAX_DELAY_MS);
    this.#handle = setTimeout(() => (step < ms ? this.#arm(ms - step, fire) : fire()), step).unref();
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
      // Node rejects with an AbortError of its own, which only carries the reason as its cause.
      signal?.throwIfAborted();
      throw error;
    }
  },
  timer: (ms, fire) => new NodeTimer(ms, fire),
};

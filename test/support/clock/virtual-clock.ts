import type { Clock, Timer } from "../../../src/lib/clock.ts";

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Runs everything that is ready: promise jobs, and I/O that has arrived. */
async function settle(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/**
 * A clock that advances only on request. Timers fire in the order of their deadlines (equal ones in the order of creation), each
 * with the clock at its deadline; between two timers everything that is ready runs.
 */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(start = Date.UTC(2026, 10, 21)) {
    this.#wall = start;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(ms: number, fire: () => void): Timer {
    this.#order += 1;
    const pending: Pending = { at: this.#monotonic + Math.max(0, ms), order: this.#order, fire };
    this.#pending.add(pending);
    return { [Symbol.dispose]: () => void this.#pending.delete(pending) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const abort = (): void => {
        timer[Symbol.dispose]();
        reject(signal?.reason);
      };
      const timer = this.timer(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** Number of waiting timers and sleeps; 0 after all were disposed. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires; `undefined` when none is waiting. */
  get nextIn(): number | undefined {
    const next = this.#next();
    return next && next.at - this.#monotonic;
  }

  /** Advances both clocks by `ms` and fires every timer that becomes due, including those created meanwhile. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonic + ms;
    await settle();
    for (let next = this.#next(); next && next.at <= target; next = this.#next()) {
      this.#pending.delete(next);
      this.#moveTo(next.at);
      next.fire();
      await settle();
    }
    this.#moveTo(target);
    await settle();
  }

  /** Changes the wall clock only, as NTP or an administrator does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }

  #next(): Pending | undefined {
    let next: Pending | undefined;
    for (const pending of this.#pending) {
      if (!next || pending.at < next.at || (pending.at === next.at && pending.order < next.order)) next = pending;
    }
    return next;
  }
}

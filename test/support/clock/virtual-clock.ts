import type { Clock, Timer } from "../../../src/lib/clock.ts";
import { type PendingTimer, TimerHeap } from "./timer-heap.ts";

/** Runs everything that is ready: promise jobs, and I/O that has arrived. */
async function settle(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/**
 * A clock that advances only on request. Timers fire in the order of their deadlines (equal ones in the order of creation), each
 * with the clock at its deadline; between two timers everything that is ready runs.
 */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  #order = 0;
  readonly #timers = new TimerHeap();
  readonly #rounds: number;
  #pending = 0;

  /** @param rounds turns of the event loop after each timer; 1 is enough, and faster, without any I/O */
  constructor(start = Date.UTC(2026, 10, 21), rounds = 3) {
    this.#wall = start;
    this.#rounds = rounds;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(ms: number, fire: () => void): Timer {
    this.#order += 1;
    this.#pending += 1;
    const timer = { at: this.#monotonic + Math.max(0, ms), order: this.#order, fire, disposed: false };
    this.#timers.push(timer);
    return { [Symbol.dispose]: () => this.#dispose(timer) };
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
    return this.#pending;
  }

  /** Milliseconds until the next timer fires; `undefined` when none is waiting. */
  get nextIn(): number | undefined {
    const next = this.#timers.first;
    return next && next.at - this.#monotonic;
  }

  /** Advances both clocks by `ms` and fires every timer that becomes due, including those created meanwhile. */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonic + ms;
    await settle(this.#rounds);
    for (let next = this.#timers.first; next && next.at <= target; next = this.#timers.first) {
      this.#dispose(next);
      this.#moveTo(next.at);
      next.fire();
      await settle(this.#rounds);
    }
    this.#moveTo(target);
    await settle(this.#rounds);
  }

  /** Changes the wall clock only, as NTP or an administrator does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }

  #dispose(timer: PendingTimer): void {
    if (timer.disposed) return;
    timer.disposed = true;
    this.#pending -= 1;
  }
}

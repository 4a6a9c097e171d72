import type { Clock, Timer } from "../../../src/lib/clock.ts";

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
}

/** Lets everything that is ready run: promise jobs, and I/O that has already arrived. */
async function settle(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/**
 * A clock that stands still until told to move. Timers fire in the order of their moments (ties: in the order they were set), each
 * seeing the clock at its own moment; between two timers everything that is ready runs.
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

  /** How many timers and sleeps are waiting; 0 after everything was disposed. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires; `undefined` when none is waiting. */
  get nextIn(): number | undefined {
    const next = this.#next();
    return next && next.at - this.#monotonic;
  }

  /** Moves both clocks on by `ms`, firing what falls due on the way, also what is set on the way. */
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

  /** The wall clock jumps (NTP, a person) while the monotonic one does not. */
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

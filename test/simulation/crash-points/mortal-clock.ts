import type { Clock, Timer } from "../../../src/lib/clock.ts";
import { sleepByTimer } from "../../lab/clock/sleep-by-timer.ts";
import type { VirtualClock } from "../../lab/clock/virtual-clock.ts";

/**
 * The clock of one operator process. After a crash no timer fires: nothing of the process
 * continues.
 */
export class MortalClock implements Clock {
  readonly #clock: VirtualClock;
  #isDead = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  timer(ms: number, fire: () => void): Timer {
    return this.#clock.timer(ms, () => void (this.#isDead || fire()));
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepByTimer(this, ms, signal);
  }

  /** Resolves if the process runs; never after a crash. */
  alive(): Promise<void> {
    return this.#isDead ? new Promise(() => undefined) : Promise.resolve();
  }

  crash(): void {
    this.#isDead = true;
  }
}

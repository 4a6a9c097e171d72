import type { Clock, Timer } from "../../lib/clock.ts";
import { Turns } from "./turns.ts";

/** Retries per second, over all keys. */
const RATE = 10;
/** Retries that pass together after a quiet time. */
const BURST = 100;

/** Limits the retries of all keys together: a token bucket in front of the queue, in which groups take turns. */
export class RetryGate {
  readonly #clock: Clock;
  readonly #onPass: (key: string) => void;
  readonly #groups = new Map<string, string>();
  readonly #turns = new Turns();
  #tokens = BURST;
  #countedAt: number;
  #timer: Timer | undefined;

  /** @param onPass called with each key that passes */
  constructor(clock: Clock, onPass: (key: string) => void) {
    this.#clock = clock;
    this.#onPass = onPass;
    this.#countedAt = clock.monotonic();
  }

  /** Number of keys in front of the gate. */
  get size(): number {
    return this.#groups.size;
  }

  add(group: string, key: string): void {
    this.remove(key);
    this.#groups.set(key, group);
    this.#turns.add(group, "", key);
    if (this.#timer === undefined) this.#open();
  }

  remove(key: string): boolean {
    const group = this.#groups.get(key);
    if (group === undefined) return false;
    this.#groups.delete(key);
    this.#turns.remove(group, "", key);
    if (this.size === 0) this.#stop();
    return true;
  }

  clear(): void {
    this.#groups.clear();
    this.#turns.clear();
    this.#stop();
  }

  #open(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#countedAt) / 1_000) * RATE);
    this.#countedAt = now;
    // The sum of fractions may be slightly less than the token it stands for.
    while (this.#tokens > 1 - 1e-6) {
      const key = this.#turns.take(() => false);
      if (key === undefined) return;
      this.#tokens -= 1;
      this.#groups.delete(key);
      this.#onPass(key);
    }
    if (this.size > 0) this.#timer = this.#clock.timer(((1 - this.#tokens) / RATE) * 1_000, () => this.#open());
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

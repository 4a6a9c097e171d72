import type { Clock, Timer } from "../../lib/clock.ts";
import type { TokenBucket } from "../../lib/token-bucket.ts";
import { Turns } from "./turns.ts";

/** Limits the retries of all keys together: they wait in front of the queue for tokens, and groups take turns. */
export class RetryGate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #onPass: (key: string) => void;
  readonly #groups = new Map<string, string>();
  readonly #turns = new Turns();
  #timer: Timer | undefined;

  /**
   * @param bucket may be shared with other gates
   * @param onPass called with each key that passes
   */
  constructor(clock: Clock, bucket: TokenBucket, onPass: (key: string) => void) {
    this.#clock = clock;
    this.#bucket = bucket;
    this.#onPass = onPass;
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
    while (this.size > 0) {
      if (!this.#bucket.take()) {
        this.#timer = this.#clock.timer(this.#bucket.nextInMs, () => this.#open());
        return;
      }
      const key = this.#turns.take(() => false);
      if (key === undefined) return;
      this.#groups.delete(key);
      this.#onPass(key);
    }
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

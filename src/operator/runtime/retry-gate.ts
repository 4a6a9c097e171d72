import type { Clock, Timer } from "../../lib/clock.ts";
import type { TokenBucket } from "../lib/token-bucket.ts";
import { Turns } from "./turns.ts";

interface Place {
  readonly group: string;
  readonly lane: string;
}

/**
 * Limits the retries of all keys together: they wait in front of the queue for tokens. Groups take
 * turns, and lanes within a group.
 */
export class RetryGate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #onPass: (key: string) => void;
  readonly #places = new Map<string, Place>();
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
    return this.#places.size;
  }

  add(group: string, key: string, lane = ""): void {
    this.remove(key);
    this.#places.set(key, { group, lane });
    this.#turns.add(group, lane, key);
    if (this.#timer === undefined) this.#open();
  }

  remove(key: string): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#turns.remove(place.group, place.lane, key);
    if (this.size === 0) this.#stop();
    return true;
  }

  clear(): void {
    this.#places.clear();
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
      this.#places.delete(key);
      this.#onPass(key);
    }
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

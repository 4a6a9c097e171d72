import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** Retries per second, over all keys. */
const RETRIES_PER_SECOND = 10;
/** Retries that pass together after a quiet time. */
const RETRY_BURST = 100;

/** The limits that queues share: those of one controller for all shards that this process works on. */
export class QueueLimits {
  readonly retries: TokenBucket;
  readonly #maxInFlight: number;
  #inFlight = 0;
  /** Queues whose keys wait, in the order in which they began to. */
  readonly #waiting = new Set<() => void>();

  /** @param maxInFlight maximum number of keys of all queues that are processed simultaneously */
  constructor(clock: Clock, maxInFlight = Infinity) {
    this.retries = new TokenBucket({ clock, perSecond: () => RETRIES_PER_SECOND, burst: RETRY_BURST });
    this.#maxInFlight = maxInFlight;
  }

  /** Reports whether another key may be taken. If not, `onFree` is called, once, when that may have changed. */
  isFree(onFree: () => void): boolean {
    if (this.#inFlight < this.#maxInFlight) return true;
    this.#waiting.add(onFree);
    return false;
  }

  /** Counts a key that was taken. */
  taken(): void {
    this.#inFlight += 1;
  }

  /** Ends the processing of a key. The queues that have waited longest take the next ones. */
  done(): void {
    this.#inFlight -= 1;
    for (const next of this.#waiting) {
      if (this.#inFlight >= this.#maxInFlight) return;
      this.#waiting.delete(next);
      next();
    }
  }
}

import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../lib/token-bucket.ts";

/** Retries per second, over all keys. */
const RETRIES_PER_SECOND = 10;
/** Retries that pass together after a quiet time. */
const RETRY_BURST = 100;
/** Maximum number of keys that wait for another system, to bound their memory. */
const MAX_WAITING = 512;

/** Limits that the queues of one controller share: one queue for each shard of this process. */
export class QueueLimits {
  readonly retries: TokenBucket;
  readonly #maxInFlight: number;
  /** Keys being processed that do not wait for another system. */
  #inFlight = 0;
  #waiting = 0;
  /** Keys whose wait has ended, in this order. They continue before another key is taken. */
  readonly #ended: (() => void)[] = [];
  /** Queues whose keys wait, in the order in which they began to. */
  readonly #queues = new Set<() => void>();

  /**
   * @param maxInFlight maximum number of keys of all queues that are processed simultaneously,
   * without those that wait
   */
  constructor(clock: Clock, maxInFlight = Infinity) {
    this.retries = new TokenBucket({
      clock,
      perSecond: () => RETRIES_PER_SECOND,
      burst: RETRY_BURST,
    });
    this.#maxInFlight = maxInFlight;
  }

  /**
   * Reports whether another key may be taken. If not, `onFree` is called, once, when that may have
   * changed.
   */
  isFree(onFree: () => void): boolean {
    if (this.#hasFree) return true;
    this.#queues.add(onFree);
    return false;
  }

  /** Counts a key that was taken. */
  taken(): void {
    this.#inFlight += 1;
  }

  /** Ends the processing of a key. The queues that have waited longest take the next ones. */
  done(): void {
    this.#inFlight -= 1;
    this.#offer();
  }

  /**
   * Runs the part of a key's processing that waits for another system. Other keys are processed
   * during the wait: slow systems do not delay the keys of fast ones.
   */
  async wait<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.done();
    try {
      return await work();
    } finally {
      await new Promise<void>((resolve) => {
        this.#ended.push(resolve);
        this.#offer();
      });
    }
  }

  get #hasFree(): boolean {
    return this.#inFlight < this.#maxInFlight && this.#waiting < MAX_WAITING;
  }

  #offer(): void {
    while (this.#inFlight < this.#maxInFlight) {
      const next = this.#ended.shift();
      if (next === undefined) break;
      this.#waiting -= 1;
      this.#inFlight += 1;
      next();
    }
    for (const next of this.#queues) {
      if (!this.#hasFree) return;
      this.#queues.delete(next);
      next();
    }
  }
}

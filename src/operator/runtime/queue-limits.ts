import type { Clock, Timer } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** Retries per second, over all keys. */
const RETRIES_PER_SECOND = 10;
/** Retries that pass together after a quiet time. */
const RETRY_BURST = 100;
/** Time in milliseconds after which a wait for another system no longer counts as processing. */
const LONG_WAIT_MS = 250;
/** Maximum number of waits that do not count, so that their memory and connections have a limit too. */
const MAX_UNCOUNTED = 128;

/** A key being processed that waits for another system. */
interface Wait {
  readonly group: string;
  /** Monotonic time in milliseconds. */
  readonly since: number;
  counts: boolean;
}

/** The limits that queues share: those of one controller for all shards that this process works on. */
export class QueueLimits {
  readonly retries: TokenBucket;
  readonly #clock: Clock;
  readonly #maxInFlight: number;
  #inFlight = 0;
  /** Queues whose keys wait, in the order in which they began to. */
  readonly #queues = new Set<() => void>();
  /** Waits that count, oldest first. */
  readonly #waits = new Set<Wait>();
  /** Number of waits that do not count, by group. */
  readonly #slow = new Map<string, number>();
  #uncounted = 0;
  #timer: Timer | undefined;

  /** @param maxInFlight maximum number of keys of all queues that are processed simultaneously, without those that wait for long */
  constructor(clock: Clock, maxInFlight = Infinity) {
    this.retries = new TokenBucket({ clock, perSecond: () => RETRIES_PER_SECOND, burst: RETRY_BURST });
    this.#clock = clock;
    this.#maxInFlight = maxInFlight;
  }

  /** Reports whether another key may be taken. If not, `onFree` is called, once, when that may have changed. */
  isFree(onFree: () => void): boolean {
    if (this.#hasFree) return true;
    this.#discountLong();
    if (this.#hasFree) return true;
    this.#queues.add(onFree);
    this.#watch();
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
   * Runs the part of a key's processing that waits for another system. While other keys wait, a long wait does not count as processing,
   * and neither do others of its group, so that slow systems do not keep the keys of fast ones from being processed.
   */
  async wait<T>(group: string, work: () => Promise<T>): Promise<T> {
    const wait = { group, since: this.#clock.monotonic(), counts: true };
    this.#waits.add(wait);
    if (this.#slow.has(group)) {
      this.#discount(wait);
      this.#offer();
    } else if (this.#queues.size > 0) this.#watch();
    try {
      return await work();
    } finally {
      this.#end(wait);
    }
  }

  get #hasFree(): boolean {
    return this.#inFlight < this.#maxInFlight;
  }

  #offer(): void {
    for (const next of this.#queues) {
      if (!this.#hasFree) return;
      this.#queues.delete(next);
      next();
    }
  }

  #discountLong(): void {
    const now = this.#clock.monotonic();
    for (const wait of this.#waits) {
      if (now - wait.since < LONG_WAIT_MS) return;
      this.#discount(wait);
    }
  }

  #discount(wait: Wait): void {
    if (this.#uncounted === MAX_UNCOUNTED) return;
    wait.counts = false;
    this.#waits.delete(wait);
    this.#slow.set(wait.group, (this.#slow.get(wait.group) ?? 0) + 1);
    this.#uncounted += 1;
    this.#inFlight -= 1;
  }

  #end(wait: Wait): void {
    this.#waits.delete(wait);
    if (wait.counts) return;
    const left = (this.#slow.get(wait.group) ?? 0) - 1;
    if (left > 0) this.#slow.set(wait.group, left);
    else this.#slow.delete(wait.group);
    this.#uncounted -= 1;
    this.#inFlight += 1;
  }

  /** Frees the places of waits when they have become long, as long as a queue needs one. */
  #watch(): void {
    const [oldest] = this.#waits;
    if (this.#timer !== undefined || oldest === undefined || this.#uncounted === MAX_UNCOUNTED) return;
    this.#timer = this.#clock.timer(Math.max(0, oldest.since + LONG_WAIT_MS - this.#clock.monotonic()), () => {
      this.#timer = undefined;
      this.#discountLong();
      this.#offer();
      if (this.#queues.size > 0) this.#watch();
    });
  }
}

import type { Clock } from "../../../lib/clock.ts";

interface DelayedRejectionsOptions {
  readonly clock: Clock;
  /** Rate limit of rejections that are sent immediately, per party. */
  readonly rate: { take(party: string): number; isEmpty(party: string): boolean; prune(): void };
  /** Time that a rejection is delayed, in milliseconds. */
  readonly delayMs: number;
  /** Maximum number of delayed rejections, of one party and of all. */
  readonly perParty: number;
  readonly total: number;
}

/** The event of a connection that ends a delay early. */
interface Connection {
  once(event: "close", listener: () => void): unknown;
  off(event: "close", listener: () => void): unknown;
}

/**
 * Delays the responses to a network or an account that keeps sending rejected requests, or requests
 * without credentials: each of its connections then costs the server little. Requests with valid
 * credentials pass, whatever others in their network send.
 */
export class DelayedRejections {
  readonly #options: DelayedRejectionsOptions;
  readonly #delayed = new Map<string, number>();
  #total = 0;

  constructor(options: DelayedRejectionsOptions) {
    this.#options = options;
  }

  /** Number of rejections that are delayed now. */
  get delayed(): number {
    return this.#total;
  }

  /** Reports whether the next rejection of a party would be delayed. */
  isThrottled(party: string): boolean {
    return this.#options.rate.isEmpty(party);
  }

  /**
   * Counts a rejection and resolves when its response may be sent. Returns true when the connection
   * is to be closed then, because the party has too many delayed ones.
   */
  async delay(party: string, connection: Connection): Promise<boolean> {
    const { rate, clock, delayMs, perParty, total } = this.#options;
    if (rate.take(party) === 0) return false;
    const own = this.#delayed.get(party) ?? 0;
    if (own >= perParty || this.#total >= total) return true;
    this.#change(party, 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    using _timer = clock.timer(delayMs, resolve);
    connection.once("close", resolve);
    try {
      await promise;
      return false;
    } finally {
      connection.off("close", resolve);
      this.#change(party, -1);
    }
  }

  #change(party: string, by: 1 | -1): void {
    const own = (this.#delayed.get(party) ?? 0) + by;
    if (own === 0) this.#delayed.delete(party);
    else this.#delayed.set(party, own);
    this.#total += by;
  }

  /** Forgets parties without recent rejections. */
  prune(): void {
    this.#options.rate.prune();
  }
}

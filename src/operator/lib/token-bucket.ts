import type { Clock } from "../../lib/clock.ts";

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Returns the tokens that are added per second. */
  readonly perSecond: () => number;
  /** Maximum number of tokens, and their number at the start. */
  readonly burst: number;
}

/** The sum of fractions may be slightly less than the token it stands for. */
const WHOLE = 1 - 1e-6;

/** A token bucket that does not wait: its user tries again after `nextInMs`. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #countedAt: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#countedAt = options.clock.monotonic();
  }

  /** Takes a token. Returns `false` if there is none. */
  take(): boolean {
    this.#refill();
    if (this.#tokens < WHOLE) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Time in milliseconds until there is a token; 0 if there is one. */
  get nextInMs(): number {
    this.#refill();
    return this.#tokens < WHOLE ? ((1 - this.#tokens) / this.#options.perSecond()) * 1_000 : 0;
  }

  #refill(): void {
    const { clock, perSecond, burst } = this.#options;
    const now = clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#countedAt) / 1_000) * perSecond());
    this.#countedAt = now;
  }
}

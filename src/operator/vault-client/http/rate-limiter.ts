import type { Clock } from "../../../lib/clock.ts";

/** A 429 halves the rate, down to this share of the full rate; each success restores a twentieth of the full rate. */
const SLOWEST_SHARE = 1 / 16;
const RECOVERY_SHARE = 1 / 20;

/**
 * A token bucket for requests: `perSecond` per second, bursts of twice that, in order of arrival; no limit if `perSecond` is Infinity
 * (docs/design/engine.md#vault-failures).
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #full: number;
  #perSecond: number;
  /** Negative while requests wait for tokens of the future. */
  #tokens: number;
  #at: number;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#full = perSecond;
    this.#perSecond = perSecond;
    this.#tokens = 2 * perSecond;
    this.#at = clock.monotonic();
  }

  /** Waits for a token; rejects with the signal's reason. An aborted caller does not return its token. */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#isUnlimited) return signal.throwIfAborted();
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep((-this.#tokens / this.#perSecond) * 1000, signal);
  }

  /** Halves the rate after a 429. */
  throttled(): void {
    if (this.#isUnlimited) return;
    this.#refill();
    this.#perSecond = Math.max(this.#full * SLOWEST_SHARE, this.#perSecond / 2);
    this.#tokens = Math.min(this.#tokens, 0);
  }

  /** Raises the rate after a successful request. */
  succeeded(): void {
    if (this.#perSecond === this.#full) return;
    this.#refill();
    this.#perSecond = Math.min(this.#full, this.#perSecond + this.#full * RECOVERY_SHARE);
  }

  get #isUnlimited(): boolean {
    return this.#full === Infinity;
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(2 * this.#perSecond, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}

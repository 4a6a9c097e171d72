import type { Clock } from "../../../lib/clock.ts";

/** After a refusal the rate is halved, at most this often; every success gives back a twentieth of the full rate. */
const SLOWEST_SHARE = 1 / 16;
const RECOVERY_SHARE = 1 / 20;

/** A token bucket: `perSecond` calls a second, bursts of twice that, first come first served (design: engine; faults, V4). */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #full: number;
  #perSecond: number;
  /** May be negative: calls that already have a place in the future. */
  #tokens: number;
  #at: number;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#full = perSecond;
    this.#perSecond = perSecond;
    this.#tokens = 2 * perSecond;
    this.#at = clock.monotonic();
  }

  /** Resolves when the caller may go; rejects with the signal's reason. An aborted caller's place stays used. */
  async take(signal: AbortSignal): Promise<void> {
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0) await this.#clock.sleep((-this.#tokens / this.#perSecond) * 1000, signal);
  }

  /** The vault said that we are too fast. */
  slowDown(): void {
    this.#refill();
    this.#perSecond = Math.max(this.#full * SLOWEST_SHARE, this.#perSecond / 2);
    this.#tokens = Math.min(this.#tokens, 0);
  }

  succeeded(): void {
    if (this.#perSecond === this.#full) return;
    this.#refill();
    this.#perSecond = Math.min(this.#full, this.#perSecond + this.#full * RECOVERY_SHARE);
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(2 * this.#perSecond, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}

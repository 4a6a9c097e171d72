import type { Clock } from "../../../lib/clock.ts";

/** Number of requests that pass together: logins and lists of one connection. */
const BURST = 5;
/** Time in ms from one request to the next after a burst: at most 40 requests pass in any second. */
const SPACING_MS = 29;

/**
 * Spreads the first logins and lists of all connections of the process, so that a start with a thousand of them does not reach
 * their vaults in one second. A single new connection passes immediately.
 */
export class StartGate {
  readonly #clock: Clock;
  /** Monotonic time at which all admitted requests have passed at the regular pace. */
  #passedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the turn of one request; rejects with the signal's reason. */
  async enter(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    this.#passedAt = Math.max(now, this.#passedAt) + SPACING_MS;
    const wait = this.#passedAt - now - BURST * SPACING_MS;
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }
}

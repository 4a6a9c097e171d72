import type { Clock } from "../../../lib/clock.ts";

/** Requests per second of all connections together, unless their intervals require more. */
const MIN_PER_SECOND = 40;
/** Number of these that pass together, for the logins and lists of a few connections. */
const BURST = 10;
/** Share of the rate that the regular lists of all connections may need. */
const REGULAR_SHARE = 0.5;

/**
 * Spreads the logins and lists of all connections of the process, so that a start with a thousand of them, or the end of an
 * outage, does not reach their vaults in one second. A single new connection passes immediately.
 */
export class ListGate {
  readonly #clock: Clock;
  /** Regular lists per second of the open connections. */
  #regularPerSecond = 0;
  /** Monotonic time at which all admitted requests have passed at the regular pace. */
  #passedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a connection that lists once per interval, until the returned handle is disposed. */
  register(intervalMs: number): Disposable {
    const perSecond = 1_000 / intervalMs;
    this.#regularPerSecond += perSecond;
    return { [Symbol.dispose]: () => void (this.#regularPerSecond -= perSecond) };
  }

  /** Waits for the turn of one request; rejects with the signal's reason. */
  async enter(signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const spacingMs = 1_000 / (Math.max(MIN_PER_SECOND, this.#regularPerSecond / REGULAR_SHARE) - BURST);
    this.#passedAt = Math.max(now, this.#passedAt) + spacingMs;
    const wait = this.#passedAt - now - BURST * spacingMs;
    if (wait > 0) await this.#clock.sleep(wait, signal);
  }
}

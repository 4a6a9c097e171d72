import type { Clock } from "../../../lib/clock.ts";
import { InFlightLimiter } from "../../../lib/in-flight-limiter.ts";
import { RateLimitedError } from "../vault-error.ts";

/** Reads in flight at a vault that does not throttle: the connections that the transport keeps open. */
const MAX_IN_FLIGHT = 8;
/** Maximum time in milliseconds that a throttled read waits in total; a longer wait is left to the resource. */
const MAX_WAIT_MS = 5_000;

/**
 * Sends the reads of values as fast as the vault takes them: a few at a time, half as many after a 429, one more after each round of
 * successes. A throttled read waits for the time that the vault names, if that is short, and is sent again: a first sync of thousands
 * of resources neither fails nor slows down because of the vault's limit.
 */
export class ReadPace {
  readonly #clock: Clock;
  readonly #inFlight = new InFlightLimiter(MAX_IN_FLIGHT);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws what `send` throws, a RateLimitedError only if the vault asks for a longer wait; the signal's reason */
  async run<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    using _slot = await this.#inFlight.acquire(signal);
    let leftMs = MAX_WAIT_MS;
    for (;;) {
      try {
        const result = await send();
        this.#inFlight.onSuccess();
        return result;
      } catch (error) {
        if (!(error instanceof RateLimitedError)) throw error;
        this.#inFlight.onThrottled();
        leftMs -= error.retryAfterMs;
        if (leftMs < 0) throw error;
        await this.#clock.sleep(error.retryAfterMs, signal);
      }
    }
  }
}

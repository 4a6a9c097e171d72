import type { Clock } from "../../../lib/clock.ts";
import { InFlightLimiter } from "../../lib/in-flight-limiter.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { RateLimitedError } from "../vault-error.ts";

/**
 * Reads in flight at a vault that does not throttle: the connections that the transport keeps open.
 */
const MAX_READS = 8;
/**
 * Maximum time in milliseconds that a throttled read waits in total; a longer wait is left to the
 * resource.
 */
const MAX_WAIT_MS = 5_000;

/**
 * The pace of the requests of one connection (docs/design/engine.md#vault-failures): `perSecond`
 * requests per second, bursts of twice that, in order of arrival, no limit if it is Infinity; and a
 * few reads of values in flight. After a 429 no request is sent for the time that the vault names,
 * then half as many per second and half as many reads in flight, and more again with each success.
 */
export class RequestPace {
  readonly #clock: Clock;
  readonly #full: number;
  /** Its limit is also the share of the full rate that the vault admits. */
  readonly #reads = new InFlightLimiter(MAX_READS);
  /** Monotonic time before which the vault accepts no request. */
  #limitedUntil = Number.NEGATIVE_INFINITY;
  /** Negative while requests wait for tokens of the future. */
  #tokens: number;
  #at: number;

  constructor(perSecond: number, clock: Clock) {
    this.#clock = clock;
    this.#full = perSecond;
    this.#tokens = 2 * perSecond;
    this.#at = clock.monotonic();
  }

  /** @throws RateLimitedError while the vault accepts no request */
  admit(operation: Operation): void {
    const leftMs = this.#limitedUntil - this.#clock.monotonic();
    if (leftMs > 0) throw new RateLimitedError(operation, leftMs);
  }

  /**
   * Waits for the turn of a request; rejects with the signal's reason. An aborted caller does not
   * return its turn.
   */
  async take(signal: AbortSignal): Promise<void> {
    if (this.#full === Infinity) return signal.throwIfAborted();
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens < 0)
      await this.#clock.sleep((-this.#tokens / this.#perSecond) * 1_000, signal);
  }

  /** Slows down after a 429. */
  throttled({ retryAfterMs }: RateLimitedError): void {
    this.#limitedUntil = Math.max(this.#limitedUntil, this.#clock.monotonic() + retryAfterMs);
    this.#refill();
    this.#reads.onThrottled();
    this.#tokens = Math.min(this.#tokens, 0);
  }

  /** Speeds up after a successful request. */
  succeeded(): void {
    this.#refill();
    this.#reads.onSuccess();
  }

  /**
   * Sends a read of a value when fewer others are in flight. A throttled read waits for the time
   * that the vault names, if that is short, and is sent again: a first sync of thousands of
   * resources neither fails nor slows down because of the vault's limit.
   * @throws what `send` throws, a RateLimitedError only if the vault asks for a longer wait; the
   * signal's reason
   */
  async read<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
    using _slot = await this.#reads.acquire(signal);
    let leftMs = MAX_WAIT_MS;
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof RateLimitedError)) throw error;
        leftMs -= error.retryAfterMs;
        if (leftMs < 0) throw error;
        await this.#clock.sleep(error.retryAfterMs, signal);
      }
    }
  }

  get #perSecond(): number {
    return this.#full * this.#reads.share;
  }

  #refill(): void {
    if (this.#full === Infinity) return;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(
      2 * this.#perSecond,
      this.#tokens + ((now - this.#at) / 1_000) * this.#perSecond,
    );
    this.#at = now;
  }
}

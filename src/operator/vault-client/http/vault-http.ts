import type { Clock } from "../../../lib/clock.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { isVaultError, RateLimitedError } from "../vault-error.ts";
import type { RequestOutcome, VaultObserver } from "../observer.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { responseError } from "./response-error.ts";
import type { VaultTransport, VaultRequest, VaultResponse } from "./vault-transport.ts";

export interface VaultHttpOptions {
  readonly transport: VaultTransport;
  readonly breaker: CircuitBreaker;
  readonly limiter: RateLimiter;
  readonly clock: Clock;
  readonly observer: VaultObserver;
}

/**
 * Sends requests through the rate limiter and the circuit breaker, maps responses to `VaultError`s and reports them to the
 * observer. Time spent waiting for the limiter does not count against the deadline.
 */
export class VaultHttp {
  readonly #options: VaultHttpOptions;

  constructor(options: VaultHttpOptions) {
    this.#options = options;
  }

  /**
   * Returns a successful response: 2xx, or 304 to a request with `ifNoneMatch`.
   * @throws a VaultError, or the signal's reason
   */
  async send(request: VaultRequest): Promise<VaultResponse> {
    const { breaker, limiter } = this.#options;
    return breaker.run(request.operation, async () => {
      await limiter.take(request.signal);
      try {
        const response = await this.#observed(request);
        limiter.succeeded();
        return response;
      } catch (error) {
        if (error instanceof RateLimitedError) limiter.throttled();
        throw error;
      }
    });
  }

  async #observed(request: VaultRequest): Promise<VaultResponse> {
    const { transport, clock, observer } = this.#options;
    const start = clock.monotonic();
    const ended = (outcome: RequestOutcome): void => observer.requestEnded(request.operation, outcome, clock.monotonic() - start);
    try {
      const response = await transport.request(request);
      const unchanged = response.status === 304 && request.ifNoneMatch !== undefined;
      if (response.status >= 300 && !unchanged) throw responseError(request.operation, response, clock.now());
      ended(unchanged ? "unchanged" : "ok");
      return response;
    } catch (error) {
      ended(isVaultError(error) ? error.kind : "aborted");
      throw error;
    }
  }
}

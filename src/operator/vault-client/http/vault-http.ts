import type { Clock } from "../../../lib/clock.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { isVaultError, RateLimitedError } from "../vault-error.ts";
import type { CallOutcome, VaultObserver } from "../observer.ts";
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

/** Sends calls at a bearable rate, gives every answer its meaning, and counts. The deadline starts when the call may go. */
export class VaultHttp {
  readonly #options: VaultHttpOptions;

  constructor(options: VaultHttpOptions) {
    this.#options = options;
  }

  /**
   * A successful answer: 2xx, or 304 when `ifNoneMatch` was given.
   * @throws a VaultError, or the signal's reason
   */
  async send(request: VaultRequest): Promise<VaultResponse> {
    const { breaker, limiter } = this.#options;
    return breaker.run(request.operation, async () => {
      await limiter.take(request.signal);
      try {
        const response = await this.#counted(request);
        limiter.succeeded();
        return response;
      } catch (error) {
        if (error instanceof RateLimitedError) limiter.slowDown();
        throw error;
      }
    });
  }

  async #counted(request: VaultRequest): Promise<VaultResponse> {
    const { transport, clock, observer } = this.#options;
    const start = clock.monotonic();
    const count = (outcome: CallOutcome): void => observer.call(request.operation, outcome, clock.monotonic() - start);
    try {
      const response = await transport.request(request);
      const unchanged = response.status === 304 && request.ifNoneMatch !== undefined;
      if (response.status >= 300 && !unchanged) throw responseError(request.operation, response, clock.now());
      count(unchanged ? "unchanged" : "ok");
      return response;
    } catch (error) {
      count(isVaultError(error) ? error.kind : "aborted");
      throw error;
    }
  }
}

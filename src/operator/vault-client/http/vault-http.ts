import type { Clock } from "../../../lib/clock.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { isVaultError, RateLimitedError } from "../vault-error.ts";
import type { RequestOutcome, VaultObserver } from "../observer.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { ListGate } from "./list-gate.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { responseError } from "./response-error.ts";
import type { VaultRequest, VaultResponse, VaultTransport } from "./vault-transport.ts";

/** Requests that all connections send at a common pace. */
const PACED: ReadonlySet<Operation> = new Set(["list_no_dup", "list_file", "generate_access_token", "refresh_token"]);

export interface VaultHttpOptions {
  readonly transport: VaultTransport;
  readonly breaker: CircuitBreaker;
  readonly limiter: RateLimiter;
  /** Passes logins and lists of all connections. */
  readonly gate: ListGate;
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

  /** Checks whether a request of this operation would be sent now. @throws as `send` when it would not */
  admit(operation: Operation): void {
    this.#options.breaker.admit(operation);
  }

  /**
   * Returns a successful response: 2xx, or 304 to a request with `ifNoneMatch`.
   * @throws a VaultError, or the signal's reason
   */
  async send(request: VaultRequest): Promise<VaultResponse> {
    const { breaker, limiter, gate } = this.#options;
    const { operation, signal } = request;
    breaker.admit(operation);
    if (PACED.has(operation)) await gate.enter(signal);
    await limiter.take(signal);
    // What was learned while this request waited counts too.
    breaker.admit(operation);
    try {
      const response = await this.#observed(request);
      limiter.succeeded();
      breaker.succeeded(operation);
      return response;
    } catch (error) {
      if (error instanceof RateLimitedError) limiter.throttled();
      breaker.failed(operation, error);
      throw error;
    }
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

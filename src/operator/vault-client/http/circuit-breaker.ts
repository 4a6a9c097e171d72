import type { Clock } from "../../../lib/clock.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { isVaultError, TransientError } from "../vault-error.ts";

const FAILURES_TO_OPEN = 5;
/** Shortest delay in ms that is reported to a rejected request. */
const MIN_RETRY_MS = 1_000;

/**
 * Requests on which all requests of a connection depend: if these fail, the vault fails, not one
 * entry.
 */
const CENTRAL: ReadonlySet<Operation> = new Set([
  "list_no_dup",
  "generate_access_token",
  "exchange_identity_token",
  "refresh_token",
]);

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Returns the time in ms until the next list: the list is the probe. */
  readonly untilProbe: () => number;
  /** @param cause the failure that opened it; `undefined` when it closes */
  readonly onChange: (open: boolean, cause?: Error) => void;
}

/**
 * Protects a failing vault: after 5 transient failures in a row only the list of secrets and the
 * logins that it needs are sent, at the pace of the list's backoff, and a response to the list
 * closes the circuit breaker. Only lists, logins and unreachable hosts count: an entry that the
 * vault cannot read says nothing about other entries. After a `retry-after` in response to a list
 * or login, no request at all is sent for the time that the vault names.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #open = false;
  /** Monotonic time before which the vault accepts no request. */
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** @throws TransientError `circuit_open` when the request must not be sent */
  admit(operation: Operation): void {
    const { clock, untilProbe } = this.#options;
    const now = clock.monotonic();
    if (now < this.#pausedUntil) throw circuitOpen(operation, this.#pausedUntil - now);
    if (this.#open && !CENTRAL.has(operation))
      throw circuitOpen(operation, Math.max(MIN_RETRY_MS, untilProbe()));
  }

  succeeded(operation: Operation): void {
    // A login that works does not show that the list does.
    if (operation === "list_no_dup") this.#close();
  }

  /** Counts a failed request that was sent. */
  failed(operation: Operation, error: unknown): void {
    // A lack of memory here says nothing about the vault.
    if (!isVaultError(error) || (error instanceof TransientError && error.code === "no_memory"))
      return;
    const central = CENTRAL.has(operation);
    if (error instanceof TransientError) {
      const until = this.#options.clock.monotonic() + (error.retryAfterMs ?? 0);
      if (central) this.#pausedUntil = Math.max(this.#pausedUntil, until);
      if (central || error.code === "unreachable") this.#count(error);
    } else if (central && error.kind !== "refused") this.#close();
  }

  #count(cause: Error): void {
    this.#failures += 1;
    if (this.#open || this.#failures < FAILURES_TO_OPEN) return;
    this.#open = true;
    this.#options.onChange(true, cause);
  }

  #close(): void {
    this.#failures = 0;
    if (!this.#open) return;
    this.#open = false;
    this.#options.onChange(false);
  }
}

function circuitOpen(operation: Operation, retryAfterMs: number): TransientError {
  return new TransientError(operation, "circuit_open", { retryAfterMs });
}

import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { isVaultError, RateLimitedError, TransientError } from "../vault-error.ts";

const FAILURES_TO_OPEN = 5;

/** Times are monotonic. `limited`: the vault named a time before which it accepts no request. */
type BreakerState =
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly until: number }
  | { readonly kind: "probing" }
  | { readonly kind: "limited"; readonly until: number };

/**
 * Protects a failing vault: after 5 transient failures in a row, requests fail immediately. After 1 s … 5 min a single request
 * probes the vault; any response that is not a transient failure closes the circuit breaker. A 429 rejects all requests for the
 * time that it names.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #onChange: (open: boolean) => void;
  #state: BreakerState = { kind: "closed", failures: 0 };

  constructor(clock: Clock, random: Random, onChange: (open: boolean) => void) {
    this.#clock = clock;
    this.#backoff = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, random);
    this.#onChange = onChange;
  }

  /** Runs `work`. @throws TransientError `circuit_open` or RateLimitedError without running it, else the error of `work` */
  async run<T>(operation: Operation, work: () => Promise<T>): Promise<T> {
    const probe = this.#admit(operation);
    try {
      const result = await work();
      this.#close();
      return result;
    } catch (error) {
      this.#failed(error, probe);
      throw error;
    }
  }

  /** Admits the request or throws. Returns whether it is the probe. */
  #admit(operation: Operation): boolean {
    const state = this.#state;
    const now = this.#clock.monotonic();
    switch (state.kind) {
      case "closed":
        return false;
      case "probing":
        throw new TransientError(operation, "circuit_open", { retryAfterMs: 1_000 });
      case "open":
        if (now < state.until) throw new TransientError(operation, "circuit_open", { retryAfterMs: state.until - now });
        this.#state = { kind: "probing" };
        return true;
      case "limited":
        if (now < state.until) throw new RateLimitedError(operation, state.until - now);
        this.#state = { kind: "closed", failures: 0 };
        return false;
    }
  }

  #failed(error: unknown, probe: boolean): void {
    if (error instanceof TransientError) this.#transient(probe);
    else if (error instanceof RateLimitedError) {
      this.#close();
      this.#state = { kind: "limited", until: this.#clock.monotonic() + error.retryAfterMs };
    } else if (isVaultError(error) && error.kind !== "refused") this.#close();
    // An aborted or refused request says nothing about the vault: the next one probes.
    else if (probe) this.#state = { kind: "open", until: this.#clock.monotonic() };
  }

  #transient(probe: boolean): void {
    const state = this.#state;
    if (state.kind === "closed" && state.failures + 1 < FAILURES_TO_OPEN) {
      this.#state = { kind: "closed", failures: state.failures + 1 };
    } else if (state.kind === "closed" || probe) {
      this.#state = { kind: "open", until: this.#clock.monotonic() + this.#backoff.next() };
      if (!probe) this.#onChange(true);
    }
  }

  #close(): void {
    const state = this.#state;
    // A late response to an earlier request does not end a wait that the vault requested since.
    if (state.kind === "limited" && this.#clock.monotonic() < state.until) return;
    this.#state = { kind: "closed", failures: 0 };
    this.#backoff.reset();
    if (state.kind === "open" || state.kind === "probing") this.#onChange(false);
  }
}

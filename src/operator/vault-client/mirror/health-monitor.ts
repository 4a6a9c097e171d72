import type { Clock } from "../../../lib/clock.ts";
import type { Health } from "../connection.ts";
import { isVaultError, TransientError } from "../vault-error.ts";
import { codeOf } from "../../../lib/error-code.ts";

/** Tracks the outcome of the last list and reports changes. */
export class HealthMonitor {
  readonly #clock: Clock;
  readonly #onHealth: (health: Health) => void;
  #health: Health;

  constructor(clock: Clock, onHealth: (health: Health) => void) {
    this.#clock = clock;
    this.#onHealth = onHealth;
    this.#health = { state: "starting", error: undefined, since: clock.now() };
  }

  get health(): Health {
    return this.#health;
  }

  succeeded(): void {
    this.#become("healthy", undefined);
  }

  failed(error: Error): void {
    // The failure that opened the circuit breaker is the cause to report.
    const breakerOpen = error instanceof TransientError && error.code === "circuit_open";
    this.#become("failing", breakerOpen ? (this.#health.error ?? error) : error);
  }

  #become(state: Health["state"], error: Error | undefined): void {
    const before = this.#health;
    const since = before.state === state ? before.since : this.#clock.now();
    this.#health = { state, error, since };
    if (before.state !== state || failureKind(before.error) !== failureKind(error)) this.#onHealth(this.#health);
  }
}

/** Returns a key for the kind of failure. Numbers in a message, such as a delay, do not make it another kind. */
function failureKind(error: Error | undefined): string | undefined {
  if (!isVaultError(error)) return error?.message;
  return [error.operation, error.kind, codeOf(error), "status" in error && error.status, "field" in error && error.field].join();
}

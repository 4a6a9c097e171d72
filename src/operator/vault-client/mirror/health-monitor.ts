import type { Clock } from "../../../lib/clock.ts";
import type { Health } from "../connection.ts";
import { isVaultError, TransientError } from "../vault-error.ts";
import { codeOf } from "../../../lib/error-code.ts";

/** Remembers how the last list went, and says so when that is news. */
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
    // Why calls are held back is what the failure before says.
    const heldBack = error instanceof TransientError && error.code === "circuit_open";
    this.#become("failing", heldBack ? (this.#health.error ?? error) : error);
  }

  #become(state: Health["state"], error: Error | undefined): void {
    const before = this.#health;
    const since = before.state === state ? before.since : this.#clock.now();
    this.#health = { state, error, since };
    if (before.state !== state || classOf(before.error) !== classOf(error)) this.#onHealth(this.#health);
  }
}

/** Figures in a message, such as a time to wait, are no news. */
function classOf(error: Error | undefined): string | undefined {
  if (!isVaultError(error)) return error?.message;
  return [error.operation, error.kind, codeOf(error), "status" in error && error.status, "field" in error && error.field].join();
}

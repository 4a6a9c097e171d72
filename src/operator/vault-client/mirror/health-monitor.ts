import type { Health } from "../connection.ts";
import { isVaultError, TransientError } from "../vault-error.ts";
import { codeOf } from "../../../lib/errors.ts";

/** The lists, and a login for names that the token in use lacks. */
type TrackedOperation = "list_no_dup" | "list_file" | "generate_access_token";

/** Tracks the outcomes of the last lists and reports changes. */
export class HealthMonitor {
  readonly #onHealth: (health: Health) => void;
  /** Failures of the operations that fail now. */
  readonly #errors = new Map<TrackedOperation, Error>();
  #listed = false;
  #health: Health = { state: "starting", error: undefined };

  constructor(onHealth: (health: Health) => void) {
    this.#onHealth = onHealth;
  }

  get health(): Health {
    return this.#health;
  }

  listed(operation: TrackedOperation): void {
    if (operation === "list_no_dup") this.#listed = true;
    this.stopped(operation);
  }

  failed(operation: TrackedOperation, failure: unknown): void {
    const error =
      failure instanceof Error ? failure : new Error("not an error", { cause: failure });
    // The failure after which the vault asked for time is the cause to report.
    const unsent = error instanceof TransientError && error.code === "circuit_open";
    this.#errors.set(operation, unsent ? (this.#errors.get(operation) ?? error) : error);
    this.#update();
  }

  /** Forgets an operation that is no longer needed. */
  stopped(operation: TrackedOperation): void {
    this.#errors.delete(operation);
    this.#update();
  }

  #update(): void {
    const error =
      this.#errors.get("list_no_dup") ??
      this.#errors.get("generate_access_token") ??
      this.#errors.get("list_file");
    this.#become(error ? "failing" : this.#listed ? "healthy" : "starting", error);
  }

  #become(state: Health["state"], error: Error | undefined): void {
    const before = this.#health;
    this.#health = { state, error };
    if (before.state !== state || failureKind(before.error) !== failureKind(error))
      this.#onHealth(this.#health);
  }
}

/**
 * Returns a key for the kind of failure. Numbers in a message, such as a delay, do not make it
 * another kind.
 */
function failureKind(error: Error | undefined): string | undefined {
  if (!isVaultError(error)) return error?.message;
  return [
    error.operation,
    error.kind,
    codeOf(error),
    "status" in error && error.status,
    "field" in error && error.field,
  ].join();
}

import type { Clock } from "../../../lib/clock.ts";
import { AuthError, type PermanentError } from "../vault-error.ts";

const MINUTE_MS = 60_000;
const STEPS_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);

/** After refused log-ins: 1, 5, 15, then 60 minutes without another, so that an account is never locked by us (faults, V13). */
export class LoginBackoff {
  readonly #clock: Clock;
  #refusals = 0;
  #last: { readonly error: AuthError | PermanentError; readonly until: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a refusal; answers the error to throw, which says how long no log-in is tried. */
  refused(error: AuthError | PermanentError): AuthError | PermanentError {
    const wait = STEPS_MS[Math.min(this.#refusals, STEPS_MS.length - 1)] ?? MINUTE_MS;
    this.#refusals += 1;
    this.#last = { error, until: this.#clock.monotonic() + wait };
    return this.current() ?? error;
  }

  /** The error that stands instead of a log-in for now, if any. */
  current(): AuthError | PermanentError | undefined {
    const last = this.#last;
    const left = (last?.until ?? 0) - this.#clock.monotonic();
    if (!last || left <= 0) return undefined;
    return last.error instanceof AuthError ? new AuthError(last.error.operation, last.error.code, left) : last.error;
  }

  /** A log-in succeeded, or there are new credentials. */
  reset(): void {
    this.#refusals = 0;
    this.#last = undefined;
  }
}

import type { Clock } from "../../../lib/clock.ts";
import { AuthError, type PermanentError } from "../vault-error.ts";

const MINUTE_MS = 60_000;
const STEPS_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);

/** Delays logins after rejected ones: 1, 5, 15, then 60 minutes, so that the operator never locks an account. */
export class LoginBackoff {
  readonly #clock: Clock;
  #rejections = 0;
  #last: { readonly error: AuthError | PermanentError; readonly until: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a rejection. Returns the error to throw, which carries the time until the next attempt. */
  rejected(error: AuthError | PermanentError): AuthError | PermanentError {
    const wait = STEPS_MS[Math.min(this.#rejections, STEPS_MS.length - 1)] ?? MINUTE_MS;
    this.#rejections += 1;
    this.#last = { error, until: this.#clock.monotonic() + wait };
    return this.current() ?? error;
  }

  /** Returns the error to throw instead of logging in, or `undefined` when a login is allowed. */
  current(): AuthError | PermanentError | undefined {
    const last = this.#last;
    const left = (last?.until ?? 0) - this.#clock.monotonic();
    if (!last || left <= 0) return undefined;
    return last.error instanceof AuthError ? new AuthError(last.error.operation, last.error.code, left) : last.error;
  }

  /** Allows a login immediately: one succeeded, or the credentials changed. */
  reset(): void {
    this.#rejections = 0;
    this.#last = undefined;
  }
}

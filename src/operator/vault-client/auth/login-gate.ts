import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { Slots } from "../../../lib/slots.ts";
import { AuthError } from "../vault-error.ts";

const MINUTE_MS = 60_000;
/** Pauses after the first, second, … rejection in a row. */
const STEPS_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const LONGEST_MS = 60 * MINUTE_MS;
const LOGINS_PER_ORIGIN = 4;
/** Number of rejected credentials that are remembered. When there are more, every login of the account waits. */
const MAX_REJECTED = 8;

/** Identifies credentials in this process only. */
export type CredentialDigest = string;

/** Coordinates the logins of all connections of the process, so that the operator neither locks an account nor floods a vault. */
export class LoginGate {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #accounts = new Map<string, AccountLogins>();
  readonly #origins = new Map<string, Slots>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the logins of an account, which all its connections share, also after they are opened again. */
  account(url: string, email: string): AccountLogins {
    const origin = URL.parse(url)?.origin ?? url;
    const key = JSON.stringify([origin, email.toLowerCase()]);
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const slots = this.#origins.get(origin) ?? new Slots(LOGINS_PER_ORIGIN);
    this.#origins.set(origin, slots);
    const account = new AccountLogins(this.#clock, slots, this.#key);
    this.#accounts.set(key, account);
    return account;
  }
}

/**
 * The logins of one account: one at a time, at most four of one vault. After a rejection all logins with rejected credentials wait
 * 1, 5, 15, then 60 minutes, whichever connection uses them. Other credentials are tried immediately.
 */
export class AccountLogins {
  readonly #clock: Clock;
  readonly #origin: Slots;
  readonly #key: Uint8Array;
  readonly #slot = new Slots(1);
  readonly #rejected = new Map<CredentialDigest, AuthError>();
  #rejections = 0;
  #until = { wall: 0, monotonic: Number.NEGATIVE_INFINITY };

  constructor(clock: Clock, origin: Slots, key: Uint8Array) {
    this.#clock = clock;
    this.#origin = origin;
    this.#key = key;
  }

  digest(credentials: Redacted<string>): CredentialDigest {
    return createHmac("sha256", this.#key).update(credentials.reveal()).digest("base64");
  }

  /**
   * Runs `send` when it is its turn.
   * @throws AuthError without running it while the credentials are paused; the error of `send`, which counts if it is an AuthError
   */
  async run<T>(credentials: CredentialDigest, signal: AbortSignal, send: () => Promise<T>): Promise<T> {
    const attempt = async (): Promise<T> => {
      const paused = this.paused(credentials);
      if (paused) throw paused;
      try {
        const result = await send();
        this.#accept(credentials);
        return result;
      } catch (error) {
        throw error instanceof AuthError ? this.reject(credentials, error) : error;
      }
    };
    return this.#slot.run(signal, () => this.#origin.run(signal, attempt));
  }

  /** Counts a rejection of these credentials. Returns the error to throw, which carries the time until the next attempt. */
  reject(credentials: CredentialDigest, error: AuthError): AuthError {
    if (this.#clock.monotonic() > this.#until.monotonic + LONGEST_MS) this.#forget();
    this.#rejected.set(credentials, error);
    const waitMs = STEPS_MS[this.#rejections] ?? LONGEST_MS;
    this.#rejections += 1;
    this.#pauseFor(waitMs);
    return this.paused(credentials) ?? error;
  }

  /** Returns the error to throw instead of using the credentials, or `undefined` when they may be tried. */
  paused(credentials: CredentialDigest): AuthError | undefined {
    const leftMs = this.#until.monotonic - this.#clock.monotonic();
    if (leftMs <= 0) return undefined;
    const last = [...this.#rejected.values()].at(-1);
    const rejection = this.#rejected.get(credentials) ?? (this.#rejected.size > MAX_REJECTED ? last : undefined);
    return rejection && new AuthError(rejection.operation, rejection.code, leftMs);
  }

  /** Returns the end of the pause of these credentials in milliseconds since the epoch. */
  pausedUntil(credentials: CredentialDigest): number | undefined {
    return this.paused(credentials) && this.#until.wall;
  }

  /** Continues a pause that an earlier process began. `until` is in milliseconds since the epoch, and limited to an hour. */
  restore(credentials: CredentialDigest, until: number): void {
    const leftMs = Math.min(until - this.#clock.now(), LONGEST_MS);
    if (leftMs <= 0) return;
    this.#rejected.set(credentials, new AuthError("generate_access_token", "credentials"));
    if (this.#clock.monotonic() + leftMs <= this.#until.monotonic) return;
    this.#rejections = STEPS_MS.filter((step) => step < leftMs).length + 1;
    this.#pauseFor(leftMs);
  }

  /** Others stay rejected: a correct password in one namespace says nothing about an outdated one in another. */
  #accept(credentials: CredentialDigest): void {
    this.#rejected.delete(credentials);
    if (this.#rejected.size === 0) this.#forget();
  }

  #forget(): void {
    this.#rejected.clear();
    this.#rejections = 0;
    this.#until = { wall: 0, monotonic: Number.NEGATIVE_INFINITY };
  }

  #pauseFor(ms: number): void {
    this.#until = { wall: this.#clock.now() + ms, monotonic: this.#clock.monotonic() + ms };
  }
}

import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { Slots } from "../../../lib/slots.ts";
import { AuthError } from "../vault-error.ts";
import { type CredentialDigest, RejectedCredentials } from "./rejected-credentials.ts";

const LOGINS_PER_ORIGIN = 4;

/** State that the logins of all tenants of an account share. */
interface Account {
  readonly rejected: RejectedCredentials;
  readonly slot: Slots;
  readonly origin: Slots;
}

/**
 * Coordinates the logins of all connections of the process: the operator neither locks an account
 * nor floods a vault.
 */
export class LoginGate {
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #accounts = new Map<string, Account>();
  readonly #origins = new Map<string, Slots>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the logins of a tenant to an account. All connections of the tenant share them, also
   * after a connection is opened again.
   */
  account(url: string, email: string, tenant: string): AccountLogins {
    const origin = URL.parse(url)?.origin ?? url;
    const key = JSON.stringify([origin, email.toLowerCase()]);
    const slots = this.#origins.get(origin) ?? new Slots(LOGINS_PER_ORIGIN);
    this.#origins.set(origin, slots);
    const account = this.#accounts.get(key) ?? {
      rejected: new RejectedCredentials(this.#clock),
      slot: new Slots(1),
      origin: slots,
    };
    this.#accounts.set(key, account);
    return new AccountLogins(account, tenant, this.#key);
  }
}

/**
 * The logins of one tenant to one account: one of an account at a time, at most four of one vault,
 * tenants in turn. Credentials that the vault rejected are not sent while {@link
 * RejectedCredentials} pauses them. Other credentials are tried immediately.
 */
export class AccountLogins {
  readonly #account: Account;
  readonly #tenant: string;
  readonly #key: Uint8Array;

  constructor(account: Account, tenant: string, key: Uint8Array) {
    this.#account = account;
    this.#tenant = tenant;
    this.#key = key;
  }

  digest(credentials: Redacted<string>): CredentialDigest {
    return createHmac("sha256", this.#key).update(credentials.reveal()).digest("base64");
  }

  /**
   * Runs `send` when it is its turn. An AuthError of `send` counts as a rejection.
   * @throws AuthError without running it while the credentials are paused; the error of `send`
   */
  async run<T>(
    credentials: CredentialDigest,
    signal: AbortSignal,
    send: () => Promise<T>,
  ): Promise<T> {
    const { slot, origin, rejected } = this.#account;
    const attempt = async (): Promise<T> => {
      const paused = this.paused(credentials);
      if (paused) throw paused;
      try {
        const result = await send();
        rejected.accept(credentials);
        return result;
      } catch (error) {
        throw error instanceof AuthError ? this.reject(credentials, error) : error;
      }
    };
    return slot.run(signal, () => origin.run(signal, attempt, this.#tenant), this.#tenant);
  }

  /**
   * Counts a rejection of these credentials. Returns the error to throw, with the time until the
   * next attempt.
   */
  reject(credentials: CredentialDigest, error: AuthError): AuthError {
    return this.#account.rejected.reject(this.#tenant, credentials, error);
  }

  /**
   * Returns the error to throw instead of using the credentials, or `undefined` when they may be
   * tried.
   */
  paused(credentials: CredentialDigest): AuthError | undefined {
    return this.#account.rejected.paused(this.#tenant, credentials);
  }

  /** Returns the end of the pause of these credentials in milliseconds since the epoch. */
  pausedUntil(credentials: CredentialDigest): number | undefined {
    return this.#account.rejected.pausedUntil(this.#tenant, credentials);
  }

  /**
   * Continues a pause that an earlier process began. `until` is in milliseconds since the epoch,
   * and limited to an hour.
   */
  restore(credentials: CredentialDigest, until: number): void {
    this.#account.rejected.restore(this.#tenant, credentials, until);
  }
}

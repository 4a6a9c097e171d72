import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import { type AuthError, isVaultError, TransientError } from "../vault-error.ts";
import { codeOf } from "../../../lib/errors.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { LoginPause } from "../connection.ts";
import type { AccountLogins } from "./login-gate.ts";
import type { CredentialDigest } from "./rejected-credentials.ts";
import type { Token } from "./token.ts";
import type { TokenOperations } from "./token-operations.ts";

/** The ways to get a token: with a password, from a stored pair, or with an identity. */
export interface TokenSource {
  /** Returns another token than `current`. @throws a VaultError, or the signal's reason */
  renew(current: Token | undefined, signal: AbortSignal): Promise<Token>;
  /**
   * Counts a token to which the vault responded with 401 immediately as a rejected login. Returns
   * the error to throw.
   */
  reject(token: Token, error: AuthError): AuthError;
  /** Returns the pause of the credentials that were used last. */
  readonly pause: LoginPause | undefined;
}

export interface TokenSourceOptions {
  readonly operations: TokenOperations;
  readonly logins: AccountLogins;
  /** Lifetime requested at login, and assumed where a response names none. */
  readonly lifetimeMs: number;
  /** Pause that an earlier process published. */
  readonly pause?: LoginPause | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Runs an access to stored credentials. Errors of the store become transient: every failure is a
 * VaultError.
 */
export async function fromStore<T>(signal: AbortSignal, access: () => Promise<T>): Promise<T> {
  try {
    return await access();
  } catch (error) {
    signal.throwIfAborted();
    if (isVaultError(error)) throw error;
    throw new TransientError("generate_access_token", "credentials_not_read", {
      detail: codeOf(error),
    });
  }
}

/** The credentials that were sent last: rejected logins are counted and paused by them. */
export class SentCredentials {
  readonly #options: Pick<TokenSourceOptions, "logins" | "pause">;
  #last: { readonly digest: CredentialDigest; readonly version: string } | undefined;

  constructor(options: Pick<TokenSourceOptions, "logins" | "pause">) {
    this.#options = options;
  }

  get pause(): LoginPause | undefined {
    const until = this.#last && this.#options.logins.pausedUntil(this.#last.digest);
    return this.#last && until !== undefined
      ? { until, credentials: this.#last.version }
      : undefined;
  }

  /** Counts a rejection of what was sent last. Returns the error to throw. */
  reject(error: AuthError): AuthError {
    return this.#last ? this.#options.logins.reject(this.#last.digest, error) : error;
  }

  /** Sends a request with this password, refresh token or identity, unless it is paused. */
  send<T>(
    credential: Redacted<string>,
    version: string,
    signal: AbortSignal,
    request: () => Promise<T>,
  ): Promise<T> {
    return this.#options.logins.run(this.#use(credential, version), signal, request);
  }

  /** Returns the error to throw instead of using a credential, while it is paused. */
  paused(credential: Redacted<string>, version: string): AuthError | undefined {
    return this.#options.logins.paused(this.#use(credential, version));
  }

  #use(credential: Redacted<string>, version: string): CredentialDigest {
    const { logins, pause } = this.#options;
    const digest = logins.digest(credential);
    if (this.#last === undefined && pause?.credentials === version)
      logins.restore(digest, pause.until);
    this.#last = { digest, version };
    return digest;
  }
}

import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { SingleFlight } from "../../../lib/single-flight.ts";
import type { TokenResponse } from "../readers/read-token.ts";
import { AuthError, isVaultError, PermanentError } from "../vault-error.ts";
import { LoginBackoff } from "./login-backoff.ts";
import type { TokenOperations } from "./token-operations.ts";
import { tokenFrom, type Token } from "./token.ts";

/** The credentials with which a connection logs in. */
export type CredentialSource = {
  readonly kind: "password";
  /** Called for each login, so that a changed password is used. Its errors are thrown by the request that needed the login. */
  readonly password: () => Promise<Redacted<string>>;
};

export interface TokenManagerOptions {
  readonly operations: TokenOperations;
  readonly credentials: CredentialSource;
  /** Scope requested at login. */
  readonly scope: string;
  /** Lifetime requested at login. */
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Keeps one access token valid (docs/design/engine.md#tokens). There is no background work: the request that finds a token due
 * refreshes it, and concurrent requests share that refresh. While a due token still works, a failed refresh has no effect.
 */
export class TokenManager {
  readonly #options: TokenManagerOptions;
  readonly #loginBackoff: LoginBackoff;
  readonly #refreshRetry: Backoff;
  readonly #flights = new SingleFlight<Token>();
  /** Tokens to which the vault responded with 401. */
  readonly #rejected = new WeakSet<Token>();
  /** Tokens whose refresh the vault rejected. */
  readonly #unrefreshable = new WeakSet<Token>();
  #token: Token | undefined;
  #retryRefreshAt = 0;
  /** Incremented when the credentials change, so that a rejection of the old ones does not count against the new ones. */
  #credentialsRevision = 0;

  constructor(options: TokenManagerOptions) {
    this.#options = options;
    this.#loginBackoff = new LoginBackoff(options.clock);
    this.#refreshRetry = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
  }

  get current(): Token | undefined {
    return this.#token;
  }

  /**
   * Returns a token that is valid as far as known.
   * @throws a VaultError, an error of the credential source, or the signal's reason
   */
  async getToken(signal: AbortSignal): Promise<Token> {
    const token = this.#token;
    if (!token || !this.#isValid(token)) return this.#refreshOrLogin(signal);
    const now = this.#options.clock.monotonic();
    if (now < token.refreshDueMonotonic || now < this.#retryRefreshAt) return token;
    try {
      return await this.#refreshOrLogin(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#isValid(token)) throw error;
      this.#retryRefreshAt = this.#options.clock.monotonic() + this.#refreshRetry.next();
      return token;
    }
  }

  /** Returns another token after a 401 to `rejected`; it may exist already. @throws as `getToken` */
  async refreshAfter401(rejected: Token, signal: AbortSignal): Promise<Token> {
    this.#rejected.add(rejected);
    return this.getToken(signal);
  }

  /** Counts a 401 to a fresh token as a rejected login, so that requests cannot loop. Returns the error to throw. */
  markRejected(token: Token, error: AuthError): AuthError | PermanentError {
    // Several requests that failed with the same token count once.
    if (this.#rejected.has(token)) return this.#loginBackoff.current() ?? error;
    this.#rejected.add(token);
    this.#unrefreshable.add(token);
    return this.#loginBackoff.rejected(error);
  }

  /** Ends the backoff after rejected logins, so that the next request uses the new credentials. */
  credentialsChanged(): void {
    this.#credentialsRevision += 1;
    this.#loginBackoff.reset();
    this.#retryRefreshAt = 0;
  }

  #isValid(token: Token): boolean {
    return !this.#rejected.has(token) && this.#options.clock.monotonic() < token.expiresAtMonotonic;
  }

  #refreshOrLogin(signal: AbortSignal): Promise<Token> {
    return this.#flights.run("token", signal, async (shared) => {
      const token = (await this.#refresh(shared)) ?? (await this.#login(shared));
      this.#token = token;
      this.#refreshRetry.reset();
      return token;
    });
  }

  /** Returns `undefined` when there is no refresh token, or the vault rejected it. */
  async #refresh(signal: AbortSignal): Promise<Token | undefined> {
    const used = this.#token;
    if (!used?.refresh || this.#unrefreshable.has(used)) return undefined;
    try {
      const response = await this.#options.operations.refresh(used.refresh, used.access, signal);
      if (response.accessToken.reveal() !== used.access.reveal()) return this.#toToken(response, used.refresh);
    } catch (error) {
      // The vault did not judge the refresh token, so it may still be valid.
      if (!isVaultError(error) || error.kind === "transient" || error.kind === "rate-limited" || error.kind === "refused")
        throw error;
      this.#options.logger.info({ kind: error.kind }, "token refresh rejected, logging in");
    }
    this.#unrefreshable.add(used);
    return undefined;
  }

  async #login(signal: AbortSignal): Promise<Token> {
    const delayed = this.#loginBackoff.current();
    if (delayed) throw delayed;
    const revision = this.#credentialsRevision;
    const { operations } = this.#options;
    try {
      const response = await operations.login(await this.#password(), signal);
      this.#loginBackoff.reset();
      return this.#toToken(response, undefined);
    } catch (error) {
      const rejected = error instanceof AuthError || error instanceof PermanentError;
      throw rejected && revision === this.#credentialsRevision ? this.#loginBackoff.rejected(error) : error;
    }
  }

  #password(): Promise<Redacted<string>> {
    const { credentials } = this.#options;
    switch (credentials.kind) {
      case "password":
        return credentials.password();
    }
  }

  #toToken(response: TokenResponse, refresh: Redacted<string> | undefined): Token {
    const { scope, lifetimeMs, clock, random } = this.#options;
    return tokenFrom(response, { scope, lifetimeMs, refresh }, clock, random);
  }
}

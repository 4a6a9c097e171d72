import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { CredentialSource } from "./credential-source.ts";
import { AuthError, isVaultError, PermanentError } from "../vault-error.ts";
import { LoginBackoff } from "./login-backoff.ts";
import type { TokenResponse } from "../readers/read-token.ts";
import { SingleFlight } from "../../../lib/single-flight.ts";
import type { TokenOperations } from "./token-operations.ts";
import { tokenFrom, type Token } from "./token.ts";

export interface TokenManagerOptions {
  readonly operations: TokenOperations;
  readonly credentials: CredentialSource;
  /** What is asked for at a log-in. */
  readonly scope: string;
  readonly lifetimeMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Keeps one access token good (design: engine, "Tokens"). Nothing runs by itself: a token is renewed by the call that finds it due,
 * all callers of that moment sharing one renewal. While a token that is due still works, a failed renewal harms nobody.
 */
export class TokenManager {
  readonly #options: TokenManagerOptions;
  readonly #pause: LoginBackoff;
  readonly #refreshRetry: Backoff;
  readonly #flights = new SingleFlight<Token>();
  /** Tokens that the vault answered 401 to, and tokens whose refresh it refused. */
  readonly #refused = new WeakSet<Token>();
  readonly #unrefreshable = new WeakSet<Token>();
  #token: Token | undefined;
  #retryRefreshAt = 0;
  /** Counts changes of the credentials, so that a refusal of the old ones isn't held against the new ones. */
  #credentials = 0;

  constructor(options: TokenManagerOptions) {
    this.#options = options;
    this.#pause = new LoginBackoff(options.clock);
    this.#refreshRetry = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
  }

  get current(): Token | undefined {
    return this.#token;
  }

  /** A token that works as far as we know. @throws a VaultError, what the credential source throws, or the signal's reason */
  async access(signal: AbortSignal): Promise<Token> {
    const token = this.#token;
    if (!token || !this.#works(token)) return this.#renewed(signal);
    const now = this.#options.clock.monotonic();
    if (now < token.refreshDue || now < this.#retryRefreshAt) return token;
    try {
      return await this.#renewed(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#works(token)) throw error;
      this.#retryRefreshAt = this.#options.clock.monotonic() + this.#refreshRetry.next();
      return token;
    }
  }

  /** After a 401 to `refused`: another token, which may be there already. @throws as `access` */
  async renew(refused: Token, signal: AbortSignal): Promise<Token> {
    this.#refused.add(refused);
    return this.access(signal);
  }

  /** A 401 to a token just renewed: counts as a refused log-in, so that nothing goes round in circles. */
  reject(token: Token, error: AuthError): AuthError | PermanentError {
    // Of several calls that the same token failed, one counts.
    if (this.#refused.has(token)) return this.#pause.current() ?? error;
    this.#refused.add(token);
    this.#unrefreshable.add(token);
    return this.#pause.refused(error);
  }

  credentialsChanged(): void {
    this.#credentials += 1;
    this.#pause.reset();
    this.#retryRefreshAt = 0;
  }

  #works(token: Token): boolean {
    return !this.#refused.has(token) && this.#options.clock.monotonic() < token.lapses;
  }

  #renewed(signal: AbortSignal): Promise<Token> {
    return this.#flights.run("token", signal, async (shared) => {
      const token = (await this.#refresh(shared)) ?? (await this.#logIn(shared));
      this.#token = token;
      this.#refreshRetry.reset();
      return token;
    });
  }

  /** `undefined` when there is nothing to refresh with, or the vault won't. */
  async #refresh(signal: AbortSignal): Promise<Token | undefined> {
    const used = this.#token;
    if (!used?.refresh || this.#unrefreshable.has(used)) return undefined;
    try {
      const answer = await this.#options.operations.refresh(used.refresh, used.access, signal);
      if (answer.accessToken.reveal() !== used.access.reveal()) return this.#take(answer, used.refresh);
    } catch (error) {
      // The vault could not be asked: the refresh token may be as good as ever.
      if (!isVaultError(error) || error.kind === "transient" || error.kind === "rate-limited" || error.kind === "refused")
        throw error;
      this.#options.logger.info({ kind: error.kind }, "token refresh refused, logging in");
    }
    this.#unrefreshable.add(used);
    return undefined;
  }

  async #logIn(signal: AbortSignal): Promise<Token> {
    const pause = this.#pause.current();
    if (pause) throw pause;
    const credentials = this.#credentials;
    const { operations } = this.#options;
    try {
      const answer = await operations.logIn(await this.#password(), signal);
      this.#pause.reset();
      return this.#take(answer, undefined);
    } catch (error) {
      const refused = error instanceof AuthError || error instanceof PermanentError;
      throw refused && credentials === this.#credentials ? this.#pause.refused(error) : error;
    }
  }

  #password(): Promise<Redacted<string>> {
    const { credentials } = this.#options;
    switch (credentials.kind) {
      case "password":
        return credentials.password();
    }
  }

  #take(answer: TokenResponse, refresh: Redacted<string> | undefined): Token {
    const { scope, lifetimeMs, clock, random } = this.#options;
    return tokenFrom(answer, { scope, lifetimeMs, refresh }, clock, random);
  }
}

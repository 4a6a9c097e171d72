import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import { SingleFlight } from "../single-flight.ts";
import { AuthError, type VaultError, isVaultError } from "../vault-error.ts";
import type { LoginPause } from "../connection.ts";
import type { RequestedScope } from "./requested-scope.ts";
import type { Token } from "./token.ts";
import type { TokenSource } from "./token-source.ts";

export interface TokenManagerOptions {
  readonly source: TokenSource;
  readonly scope: RequestedScope;
  /** Called after each change of the token or of the pause of its credentials. Must not throw. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
}

const FRESH_MS = 60_000;

/**
 * Keeps one access token valid (docs/design/engine.md#tokens). There is no background work: the
 * request that finds a token due renews it, and concurrent requests share that. While a due token
 * still works, a failed renewal has no effect.
 */
export class TokenManager {
  readonly #options: TokenManagerOptions;
  readonly #retry: Backoff;
  readonly #flights = new SingleFlight<Token>();
  /** Tokens to which the vault responded with 401. */
  readonly #rejected = new WeakSet<Token>();
  #token: Token | undefined;
  #retryAt = 0;
  /** The last token that replaced a rejected one. */
  #replacement: { readonly token: Token; readonly freshUntil: number } | undefined;
  #failure: VaultError | undefined;

  constructor(options: TokenManagerOptions) {
    this.#options = options;
    this.#retry = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
  }

  get current(): Token | undefined {
    return this.#token;
  }

  get pause(): LoginPause | undefined {
    return this.#options.source.pause;
  }

  /** Returns why the token in use still lacks a referenced name. */
  get scopeFailure(): VaultError | undefined {
    return this.#options.scope.lacks(this.#token?.scope?.names) ? this.#failure : undefined;
  }

  /**
   * Replaces the names to request. Returns the time in ms until the next request logs in for a new
   * one, if there is one.
   */
  setNames(names: ReadonlySet<string>): number | undefined {
    return this.#options.scope.setNames(names);
  }

  /** Returns the `names` that a request sent now can read. */
  readable(names: ReadonlySet<string>): ReadonlySet<string> {
    const admitted = this.#token?.scope?.names;
    return admitted === undefined
      ? names
      : new Set([...names].filter((name) => admitted.has(name)));
  }

  /**
   * Returns a token that is valid as far as known.
   * @throws a VaultError, or the signal's reason
   */
  async getToken(signal: AbortSignal): Promise<Token> {
    const token = this.#token;
    if (!token || !this.#isValid(token)) return this.#renew(signal);
    if (!this.#isDue(token)) return token;
    try {
      return await this.#renew(signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!this.#isValid(token)) throw error;
      return token;
    }
  }

  /** Reports whether a token replaced a rejected one within the last minute. */
  isFresh(token: Token): boolean {
    return (
      token === this.#replacement?.token &&
      this.#options.clock.monotonic() < this.#replacement.freshUntil
    );
  }

  /**
   * Returns another token after a 401 to `rejected`; it may exist already. @throws as `getToken`
   */
  async refreshAfter401(rejected: Token, signal: AbortSignal): Promise<Token> {
    this.#rejected.add(rejected);
    const token = await this.getToken(signal);
    if (token !== this.#replacement?.token)
      this.#replacement = { token, freshUntil: this.#options.clock.monotonic() + FRESH_MS };
    return token;
  }

  /**
   * Counts a 401 to a fresh token as a rejected login, to keep requests from looping. Returns the
   * error to throw.
   */
  markRejected(token: Token, error: AuthError): AuthError {
    const { source, onChange } = this.#options;
    // Several requests that failed with the same token count once.
    if (this.#rejected.has(token))
      return this.#failure instanceof AuthError ? this.#failure : error;
    this.#rejected.add(token);
    const failure = source.reject(token, error);
    this.#failure = failure;
    onChange();
    return failure;
  }

  /** Ends the backoff after a failed renewal: the next request reads the credentials again. */
  credentialsChanged(): void {
    this.#retryAt = 0;
  }

  #isValid(token: Token): boolean {
    return !this.#rejected.has(token) && this.#options.clock.monotonic() < token.expiresAtMonotonic;
  }

  #isDue(token: Token): boolean {
    const now = this.#options.clock.monotonic();
    if (now < this.#retryAt) return false;
    return (
      now >= token.refreshDueMonotonic ||
      (token.scope !== undefined && this.#options.scope.isDue(token.scope))
    );
  }

  #renew(signal: AbortSignal): Promise<Token> {
    return this.#flights.run("token", [signal], async (shared) => {
      const { source, scope, onChange } = this.#options;
      try {
        const token = await source.renew(this.#token, shared);
        this.#token = token;
        if (scope.lacks(token.scope?.names)) {
          this.#retryLater();
        } else {
          this.#failure = undefined;
          this.#retry.reset();
        }
        return token;
      } catch (error) {
        if (isVaultError(error)) this.#failure = error;
        this.#retryLater();
        throw error;
      } finally {
        onChange();
      }
    });
  }

  #retryLater(): void {
    this.#retryAt = this.#options.clock.monotonic() + this.#retry.next();
  }
}

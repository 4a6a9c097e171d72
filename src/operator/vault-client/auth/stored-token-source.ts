import { type AuthError, CredentialsError } from "../vault-error.ts";
import type { LoginPause } from "../connection.ts";
import type { StoredTokens, TokenStore } from "./credentials.ts";
import { type Token, tokenFrom } from "./token.ts";
import {
  fromStore,
  SentCredentials,
  type TokenSource,
  type TokenSourceOptions,
} from "./token-source.ts";

export interface StoredTokenSourceOptions extends TokenSourceOptions {
  readonly store: TokenStore;
}

/** Refreshed tokens that are not stored yet, and must not be used before. */
interface UnsavedTokens {
  readonly tokens: StoredTokens;
  readonly lifetimeMs: number;
}

/**
 * Gets tokens from a stored pair. A pair that another program stored is adopted; otherwise the pair
 * is refreshed, and stored before it is used: a crash never leaves the store with a pair that the
 * vault has replaced.
 */
export class StoredTokenSource implements TokenSource {
  readonly #options: StoredTokenSourceOptions;
  #unsaved: UnsavedTokens | undefined;
  /** The refresh token that was used last. */
  readonly #sent: SentCredentials;

  constructor(options: StoredTokenSourceOptions) {
    this.#options = options;
    this.#sent = new SentCredentials(options);
  }

  get pause(): LoginPause | undefined {
    return this.#sent.pause;
  }

  async renew(current: Token | undefined, signal: AbortSignal): Promise<Token> {
    for (;;) {
      const stored = await fromStore(signal, () => this.#options.store.read(signal));
      if (!this.#isSame(stored, current)) return this.#adopt(stored);
      const refreshed = this.#unsaved ?? (await this.#refresh(stored, signal));
      this.#unsaved = refreshed;
      const tokens = { ...refreshed.tokens, version: stored.version };
      if (await fromStore(signal, () => this.#options.store.write(tokens, signal))) {
        this.#unsaved = undefined;
        return this.#toToken(tokens, refreshed.lifetimeMs);
      }
    }
  }

  reject(_: Token, error: AuthError): AuthError {
    return this.#sent.reject(error);
  }

  /** Reports whether the stored pair is the one in use and has to be refreshed. */
  #isSame(stored: StoredTokens, current: Token | undefined): boolean {
    return stored.access.reveal() === current?.access.reveal();
  }

  /**
   * The lifetime of an adopted token is not known. One that ends earlier is refreshed after a 401.
   */
  #adopt(stored: StoredTokens): Token {
    this.#unsaved = undefined;
    return this.#toToken(stored, this.#options.lifetimeMs);
  }

  async #refresh(stored: StoredTokens, signal: AbortSignal): Promise<UnsavedTokens> {
    const { operations, lifetimeMs } = this.#options;
    const { refresh, access, version } = stored;
    if (refresh === undefined)
      throw new CredentialsError(
        "the stored access token is no longer valid, and there is no refresh_token: store a new pair",
      );
    const response = await this.#sent.send(refresh, version, signal, () =>
      operations.refresh(refresh, access, signal),
    );
    const tokens = {
      access: response.accessToken,
      refresh: response.refreshToken ?? refresh,
      version,
    };
    const seconds = response.expiresInSeconds;
    return { tokens, lifetimeMs: seconds === undefined ? lifetimeMs : seconds * 1_000 };
  }

  #toToken({ access, refresh }: StoredTokens, lifetimeMs: number): Token {
    const { clock, random } = this.#options;
    return tokenFrom({ access, refresh, scope: undefined }, lifetimeMs, clock, random);
  }
}

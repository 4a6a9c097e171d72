import type { Redacted } from "../../../lib/redacted.ts";
import type { TokenResponse } from "../readers/read-token.ts";
import { type AuthError, isVaultError } from "../vault-error.ts";
import type { LoginPause } from "../connection.ts";
import type { StoredPassword } from "./credentials.ts";
import type { RequestedScope, TokenScope } from "./requested-scope.ts";
import { type Token, tokenFrom } from "./token.ts";
import {
  fromStore,
  SentCredentials,
  type TokenSource,
  type TokenSourceOptions,
} from "./token-source.ts";

export interface PasswordTokensOptions extends TokenSourceOptions {
  readonly read: (signal: AbortSignal) => Promise<StoredPassword>;
  readonly scope: RequestedScope;
}

/** Gets tokens with a password, read again for each login, and refreshes them while possible. */
export class PasswordTokens implements TokenSource {
  readonly #options: PasswordTokensOptions;
  /** Tokens whose refresh the vault rejected. */
  readonly #unrefreshable = new WeakSet<Token>();
  /** The password of the last login. */
  readonly #sent: SentCredentials;

  constructor(options: PasswordTokensOptions) {
    this.#options = options;
    this.#sent = new SentCredentials(options);
  }

  get pause(): LoginPause | undefined {
    return this.#sent.pause;
  }

  /** A token that lacks a name is not refreshed, because a refresh keeps its scope. */
  async renew(current: Token | undefined, signal: AbortSignal): Promise<Token> {
    const { scope } = this.#options;
    const refreshable =
      current !== undefined && !(scope.lacks(current.scope?.names) && this.pause === undefined);
    return (refreshable ? await this.#refresh(current, signal) : undefined) ?? this.#login(signal);
  }

  reject(token: Token, error: AuthError): AuthError {
    this.#unrefreshable.add(token);
    return this.#sent.reject(error);
  }

  /** Returns `undefined` when there is no refresh token, or the vault rejected it. */
  async #refresh(used: Token, signal: AbortSignal): Promise<Token | undefined> {
    if (used.refresh === undefined || this.#unrefreshable.has(used)) return undefined;
    const { operations, logger } = this.#options;
    try {
      const response = await operations.refresh(used.refresh, used.access, signal);
      if (response.accessToken.reveal() !== used.access.reveal())
        return this.#toToken(response, used.refresh, used.scope);
    } catch (error) {
      // The vault did not judge the refresh token, so it may still be valid.
      if (
        !isVaultError(error) ||
        error.kind === "transient" ||
        error.kind === "rate-limited" ||
        error.kind === "refused"
      )
        throw error;
      logger.info({ kind: error.kind }, "token refresh rejected, logging in");
    }
    this.#unrefreshable.add(used);
    return undefined;
  }

  async #login(signal: AbortSignal): Promise<Token> {
    const { read, operations } = this.#options;
    const { password, version } = await fromStore(signal, () => read(signal));
    const scope = this.#options.scope.current();
    const response = await this.#sent.send(password, version, signal, () =>
      operations.login(password, scope.text, signal),
    );
    return this.#toToken(response, undefined, scope);
  }

  #toToken(
    response: TokenResponse,
    refresh: Redacted<string> | undefined,
    scope: TokenScope | undefined,
  ): Token {
    const { lifetimeMs, clock, random } = this.#options;
    const seconds = response.expiresInSeconds;
    const parts = {
      access: response.accessToken,
      refresh: response.refreshToken ?? refresh,
      scope,
    };
    return tokenFrom(parts, seconds === undefined ? lifetimeMs : seconds * 1_000, clock, random);
  }
}

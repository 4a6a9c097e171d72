import { Redacted } from "../../../lib/redacted.ts";
import { unlimitedScope, formatScope } from "../../../protocol/scope.ts";
import type { LoginPause } from "../connection.ts";
import type { AuthError } from "../vault-error.ts";
import type { IdentityTokenSource } from "./credentials.ts";
import type { RequestedScope } from "./requested-scope.ts";
import { type Token, tokenFrom } from "./token.ts";
import {
  fromStore,
  SentCredentials,
  type TokenSource,
  type TokenSourceOptions,
} from "./token-source.ts";

const UNLIMITED = formatScope(unlimitedScope);

export interface IdentityTokensOptions extends TokenSourceOptions {
  readonly identity: IdentityTokenSource;
  readonly scope: RequestedScope;
}

/**
 * Logs in with the token of a workload, a new one each time. Tokens of the vault are not refreshed:
 * what a refresh returns ends with the login.
 */
export class IdentityTokens implements TokenSource {
  readonly #options: IdentityTokensOptions;
  /** The identity stands for its tokens: each is another one. */
  readonly #id: Redacted<string>;
  readonly #sent: SentCredentials;

  constructor(options: IdentityTokensOptions) {
    this.#options = options;
    this.#id = new Redacted(options.identity.id);
    this.#sent = new SentCredentials(options);
  }

  get pause(): LoginPause | undefined {
    return this.#sent.pause;
  }

  async renew(_current: Token | undefined, signal: AbortSignal): Promise<Token> {
    const { identity, operations, scope, lifetimeMs, clock, random } = this.#options;
    // No token is requested that would not be sent.
    const paused = this.#sent.paused(this.#id, identity.version);
    if (paused) throw paused;
    const token = await fromStore(signal, () => identity.read(signal));
    const requested = scope.current();
    // Without a scope the vault grants what the identity may reach: only the vault knows that.
    const isLimited = requested.text !== UNLIMITED;
    const { accessToken, expiresInSeconds } = await this.#sent.send(
      this.#id,
      identity.version,
      signal,
      () => operations.exchange(token, isLimited ? requested.text : undefined, signal),
    );
    const parts = {
      access: accessToken,
      refresh: undefined,
      scope: isLimited ? requested : undefined,
    };
    const lifetime = expiresInSeconds === undefined ? lifetimeMs : expiresInSeconds * 1_000;
    return tokenFrom(parts, lifetime, clock, random);
  }

  reject(_token: Token, error: AuthError): AuthError {
    return this.#sent.reject(error);
  }
}

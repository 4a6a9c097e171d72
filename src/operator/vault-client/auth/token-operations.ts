import type { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { parseJson } from "../http/parse-json.ts";
import type { VaultTransport } from "../http/vault-transport.ts";
import { readToken, type TokenResponse } from "../readers/read-token.ts";

const HOUR_MS = 3_600_000;
const MAX_BYTES = 256 * 1024;

export interface TokenOperationsOptions {
  /** Returns successful responses only. */
  readonly send: VaultTransport["request"];
  readonly email: string;
  readonly lifetimeMs: number;
  readonly timeoutMs: number;
}

/** The operations that need no access token. They throw a VaultError or the signal's reason. */
export class TokenOperations {
  readonly #options: TokenOperationsOptions;

  constructor(options: TokenOperationsOptions) {
    this.#options = options;
  }

  /** @param scope formatted (src/protocol/scope.ts) */
  login(password: Redacted<string>, scope: string, signal: AbortSignal): Promise<TokenResponse> {
    const { email } = this.#options;
    return this.#send(
      "generate_access_token",
      { email, password: password.reveal(), scope, expiration_hours: this.#hours },
      signal,
    );
  }

  /** @param scope formatted; `undefined` for all that the identity may reach */
  exchange(
    token: Redacted<string>,
    scope: string | undefined,
    signal: AbortSignal,
  ): Promise<TokenResponse> {
    const { email } = this.#options;
    return this.#send(
      "exchange_identity_token",
      {
        email,
        identity_token: token.reveal(),
        ...(scope !== undefined && { scope }),
        expiration_hours: this.#hours,
      },
      signal,
    );
  }

  /** @param used the access token that the new one replaces */
  refresh(
    refreshToken: Redacted<string>,
    used: Redacted<string>,
    signal: AbortSignal,
  ): Promise<TokenResponse> {
    return this.#send(
      "refresh_token",
      { refresh_token: refreshToken.reveal(), used_access_token: used.reveal() },
      signal,
    );
  }

  get #hours(): number {
    return Math.max(1, Math.ceil(this.#options.lifetimeMs / HOUR_MS));
  }

  async #send(operation: Operation, body: object, signal: AbortSignal): Promise<TokenResponse> {
    const { send, timeoutMs } = this.#options;
    const response = await send({
      operation,
      body,
      maxBytes: MAX_BYTES,
      deadlineMs: timeoutMs,
      signal,
    });
    return readToken(operation, parseJson(response.body));
  }
}

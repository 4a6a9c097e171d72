import type { Redacted } from "../../../lib/redacted.ts";

/**
 * A password as stored. `version` identifies the stored object, not the password; it changes with
 * each write.
 */
export interface StoredPassword {
  readonly password: Redacted<string>;
  readonly version: string;
}

/** A pair of tokens as stored. */
export interface StoredTokens {
  readonly access: Redacted<string>;
  readonly refresh: Redacted<string> | undefined;
  readonly version: string;
}

/** The port to the place where a pair of tokens is kept (docs/design/engine.md#ports). */
export interface TokenStore {
  /** @throws CredentialsError when there is no usable pair, or an error of the store */
  read(signal: AbortSignal): Promise<StoredTokens>;
  /**
   * Replaces the pair of `tokens.version`. Returns `false`, and stores nothing, when another
   * version is stored by now.
   * @throws CredentialsError when the store permanently rejects the pair, or an error of the store:
   * the write may have happened
   */
  write(tokens: StoredTokens, signal: AbortSignal): Promise<boolean>;
}

/**
 * The token of a workload, for a few minutes. The port to the platform that issues it
 * (docs/design/engine.md#ports).
 */
export interface IdentityTokenSource {
  /** Identifies the identity and what it is used for: rejections are counted by it. */
  readonly id: string;
  /** Identifies the identity in a status. */
  readonly version: string;
  /** @throws CredentialsError or MissingCredentialsError, or an error of the platform */
  readonly read: (signal: AbortSignal) => Promise<Redacted<string>>;
}

/**
 * The credentials with which a connection logs in. Each login reads them again, to use a change.
 */
export type CredentialSource =
  | { readonly kind: "password"; readonly read: (signal: AbortSignal) => Promise<StoredPassword> }
  | { readonly kind: "tokens"; readonly store: TokenStore }
  | ({ readonly kind: "identity" } & IdentityTokenSource);

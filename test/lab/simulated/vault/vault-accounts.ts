import type { Clock } from "../../../../src/lib/clock.ts";
import {
  isWithin,
  type Scope,
  InvalidScopeError,
  parseScope,
} from "../../../../src/protocol/scope.ts";
import { claimsOf } from "../api-server/service-account-tokens.ts";
import { rejected } from "./rejection.ts";

const HOUR_MS = 3_600_000;
const REFRESH_IDLE_MS = 90 * 24 * HOUR_MS;

export interface Caller {
  readonly email: string;
  readonly scope: Scope;
}

interface AccessToken extends Caller {
  readonly scopeText: string;
  readonly hours: number;
  readonly expiresAt: number;
  readonly refreshToken: string;
}

/** The account of a ServiceAccount, and the scope that its tokens may have. */
export interface Identity {
  readonly email: string;
  readonly scope: string;
}

/** The users of an in-memory vault and their tokens. */
export class VaultAccounts {
  readonly #clock: Clock;
  readonly #passwords = new Map<string, string>();
  readonly #identities = new Map<string, Identity>();
  readonly #tokens = new Map<string, AccessToken>();
  /** Time until which each refresh token is valid. */
  readonly #refreshTokens = new Map<string, number>();
  #issued = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  setPassword(email: string, password: string): void {
    this.#passwords.set(email, password);
  }

  /** Ends all access tokens of a user; with `refresh`, the refresh tokens as well. */
  revoke(email: string, { refresh }: { readonly refresh: boolean }): void {
    for (const [token, { email: owner, refreshToken }] of this.#tokens) {
      if (owner !== email) continue;
      this.#tokens.delete(token);
      if (refresh) this.#refreshTokens.delete(refreshToken);
    }
  }

  /** Returns the owner of an access token. @throws Rejection `invalid_token`, `email_mismatch` */
  authenticate(token: string | undefined, email: unknown): Caller {
    const found = token === undefined ? undefined : this.#tokens.get(token);
    if (!found || found.expiresAt <= this.#clock.now()) throw rejected("invalid_token");
    if (typeof email !== "string" || email.toLowerCase() !== found.email)
      throw rejected("email_mismatch");
    return found;
  }

  logIn(body: Readonly<Record<string, unknown>>): object {
    const email = String(body["email"]).toLowerCase();
    const scopeText = String(body["scope"]);
    const scope = readScope(scopeText);
    if (this.#passwords.get(email) !== body["password"]) throw rejected("invalid_credentials");
    const refreshToken = this.#next("refresh");
    return this.#issue({
      email,
      scope,
      scopeText,
      hours: Number(body["expiration_hours"]),
      refreshToken,
    });
  }

  /** Lets a ServiceAccount log in to an account. */
  setIdentity(subject: string, identity: Identity | undefined): void {
    if (identity === undefined) this.#identities.delete(subject);
    else this.#identities.set(subject, identity);
  }

  /** Logs in with the token of a ServiceAccount for this host; see `issueToken`. */
  exchange(body: Readonly<Record<string, unknown>>, audience: string): object {
    const email = String(body["email"]).toLowerCase();
    const claims = claimsOf(body["identity_token"]);
    const identity = this.#identities.get(claims?.subject ?? "");
    const isValid =
      claims !== undefined &&
      URL.parse(claims.audience)?.host === new URL(audience).host &&
      claims.expiresAt > this.#clock.now();
    if (!isValid || identity?.email !== email) throw rejected("invalid_credentials");
    const { scope: scopeText = identity.scope } = body;
    const scope = readScope(String(scopeText));
    if (!isWithin(scope, readScope(identity.scope))) throw rejected("invalid_scope");
    const refreshToken = this.#next("refresh");
    const hours = Math.min(Number(body["expiration_hours"]), 24);
    return this.#issue({ email, scope, scopeText: String(scopeText), hours, refreshToken });
  }

  refresh(body: Readonly<Record<string, unknown>>): object {
    const refreshToken = String(body["refresh_token"]);
    const used = this.#tokens.get(String(body["used_access_token"]));
    const isValid = (this.#refreshTokens.get(refreshToken) ?? 0) > this.#clock.now();
    if (!isValid || used?.refreshToken !== refreshToken) throw rejected("invalid_refresh_token");
    return this.#issue(used);
  }

  #issue({ email, scope, scopeText, hours, refreshToken }: Omit<AccessToken, "expiresAt">): object {
    const token = this.#next("access");
    const now = this.#clock.now();
    // A token is kept for a while after it expired, because it may be exchanged for another one.
    for (const [old, { expiresAt }] of this.#tokens)
      if (expiresAt + REFRESH_IDLE_MS < now) this.#tokens.delete(old);
    this.#tokens.set(token, {
      email,
      scope,
      scopeText,
      hours,
      refreshToken,
      expiresAt: now + hours * HOUR_MS,
    });
    this.#refreshTokens.set(refreshToken, now + REFRESH_IDLE_MS);
    const rest = {
      id_token: "id",
      refresh_token: refreshToken,
      scope: scopeText,
      token_type: "access",
    };
    return { access_token: token, expires_in: hours * 3_600, ...rest };
  }

  #next(kind: string): string {
    this.#issued += 1;
    return `${kind}-token-${this.#issued}`;
  }
}

function readScope(text: string): Scope {
  try {
    return parseScope(text);
  } catch (error) {
    throw error instanceof InvalidScopeError ? rejected("invalid_scope") : error;
  }
}

import type { TokenResponse } from "../../../protocol/responses.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { AccessToken, Identity, RefreshToken, TokenPair, User } from "../store/records.ts";
import type { Transaction, Store } from "../store/store.ts";
import { isWithinNetworks, parseNetworks } from "./allowed-networks.ts";
import { requireSamePassword } from "./login.ts";
import { newToken, tokenDigest, credentialId } from "./opaque-token.ts";
import { countRequest } from "../protection/token-buckets.ts";
import { InvalidScopeError, parseScope } from "../../../protocol/scope.ts";

const HOUR_MS = 3_600_000;

/** A refresh token expires this long after its last use, in milliseconds. */
export const REFRESH_IDLE_MS = 90 * 24 * HOUR_MS;

/** Returns the time until which a refresh token is valid unless it is used before. */
export function refreshableUntilOf({
  refreshedAt,
  endsAt,
}: {
  readonly refreshedAt: number;
  readonly endsAt: number;
}): number {
  const idle = refreshedAt + REFRESH_IDLE_MS;
  return endsAt > 0 ? Math.min(idle, endsAt) : idle;
}

/**
 * Returns the lifetime of a new access token in seconds: it ends with its refresh token at the
 * latest.
 */
function lifetimeSeconds({ hours, endsAt }: RefreshToken, now: number): number {
  return endsAt > 0 ? Math.min(hours * 3600, Math.floor((endsAt - now) / 1000)) : hours * 3600;
}

/** Number of access tokens of one refresh token that are kept: older ones end. */
const ACCESS_TOKENS_PER_REFRESH = 10;

async function issueAccess(
  transaction: Transaction,
  refresh: RefreshToken,
  refreshToken: string,
  { now, ...login }: { readonly now: number } & Pick<AccessToken, "createdAt" | "name" | "issuer">,
): Promise<TokenResponse> {
  const accessToken = newToken();
  const access = {
    ...login,
    digest: tokenDigest(accessToken),
    refreshDigest: refresh.digest,
    email: refresh.email,
    scope: refresh.scope,
    expiresAt:
      refresh.endsAt > 0
        ? Math.min(now + refresh.hours * HOUR_MS, refresh.endsAt)
        : now + refresh.hours * HOUR_MS,
    allowedNetworks: refresh.allowedNetworks,
    issuedAt: now,
    usedAt: 0,
  };
  await transaction.tokens.insertAccess(access);
  await transaction.tokens.removeOldAccess(access, ACCESS_TOKENS_PER_REFRESH);
  return {
    access_token: accessToken,
    expires_in: lifetimeSeconds(refresh, now),
    // Part of the interface; it grants no access.
    id_token: newToken(),
    refresh_token: refreshToken,
    scope: refresh.scope,
    token_type: "access",
  };
}

/**
 * Removes idle logins of an account that has too many. @throws ServiceError `quota_exceeded` when
 * too many have a live access token
 */
async function requireTokenQuota(
  { limits }: VaultContext,
  { tokens }: Transaction,
  email: string,
  now: number,
): Promise<void> {
  const { tokens: most } = limits.quotas;
  const excess = (await tokens.countRefresh(email)) - most;
  if (excess > 0 && (await tokens.removeIdleRefresh(email, now, excess)) < excess)
    throw errors.quotaExceeded("tokens", most);
}

/** Reach and lifetime of a new pair of tokens. */
export interface TokenRequest {
  /** A valid scope string. */
  readonly scope: string;
  /** Hours until an access token expires. */
  readonly hours: number;
  /** Given by the user, or the client's own; may be empty. */
  readonly name: string;
  /** Issuer of a workload, whose name is its subject; none for a user. */
  readonly issuer?: string;
  /** Networks as `parseNetworks` returns them; all by default. */
  readonly allowedNetworks?: readonly string[];
  /** Hours after which both tokens end, even if refreshed; no limit by default. */
  readonly lifetimeHours?: number | undefined;
}

/**
 * Returns the limits that a request sets for new tokens. @throws ServiceError `invalid_request`
 */
export function tokenLimits(body: {
  readonly allowed_networks?: readonly string[] | undefined;
  readonly lifetime_hours?: number | undefined;
}): Required<Pick<TokenRequest, "allowedNetworks" | "lifetimeHours">> {
  return {
    allowedNetworks: parseNetworks(body.allowed_networks),
    lifetimeHours: body.lifetime_hours,
  };
}

/**
 * Issues a new pair of tokens after `logIn`.
 * @throws ServiceError `invalid_credentials` when the password was replaced since the login;
 * `quota_exceeded`
 */
export async function issueTokens(
  context: VaultContext,
  user: User,
  request: TokenRequest,
): Promise<TokenResponse> {
  return issueTokensOf(context, user.email, request, (transaction) =>
    requireSamePassword(transaction, user),
  );
}

/**
 * Issues a new pair of tokens of an account.
 * @param confirm rejects in the same transaction when the login is no longer valid
 * @throws ServiceError `quota_exceeded`; the error of `confirm`
 */
export async function issueTokensOf(
  context: VaultContext,
  email: string,
  { scope, hours, name, issuer = "", allowedNetworks = [], lifetimeHours }: TokenRequest,
  confirm: (transaction: Transaction) => Promise<void>,
): Promise<TokenResponse> {
  const now = context.clock.now();
  const refreshToken = newToken();
  const endsAt = lifetimeHours === undefined ? 0 : now + lifetimeHours * HOUR_MS;
  const digest = tokenDigest(refreshToken);
  const refresh = {
    digest,
    email,
    scope,
    hours,
    lastUsedAt: now,
    allowedNetworks,
    endsAt,
  };
  const issue = async (transaction: Transaction): Promise<TokenResponse> => {
    await confirm(transaction);
    await transaction.tokens.insertRefresh(refresh);
    const issued = await issueAccess(transaction, refresh, refreshToken, {
      now,
      createdAt: now,
      name,
      issuer,
    });
    await requireTokenQuota(context, transaction, email, now);
    return issued;
  };
  return context.store.write(issue, { account: email });
}

/** Orders pairs of tokens by the time of their login. */
function newestFirst(one: TokenPair, other: TokenPair): number {
  return other.createdAt - one.createdAt || (one.refreshDigest < other.refreshDigest ? -1 : 1);
}

/** Ends the logins of an identity, except the newest `keep` ones. */
export async function endOldLogins(
  { tokens }: Transaction,
  { email, issuer, subject }: Identity,
  keep: number,
): Promise<void> {
  const own = (await tokens.pairs(await tokens.logins(email)))
    .filter((pair) => pair.issuer === issuer && pair.name === subject)
    .toSorted(newestFirst);
  for (const { refreshDigest } of own.slice(keep)) await tokens.removePair(email, refreshDigest);
}

/** A request to refresh a pair of tokens. */
interface RefreshRequest {
  readonly refreshToken: string;
  readonly usedAccessToken: string;
  /** IP address of the client. */
  readonly client: string;
}

/** @throws ServiceError `invalid_refresh_token` */
async function findPair(
  { tokens }: Transaction,
  { refreshToken, usedAccessToken, client }: RefreshRequest,
  now: number,
): Promise<{ readonly refresh: RefreshToken; readonly used: AccessToken }> {
  const digest = tokenDigest(refreshToken);
  const refresh = await tokens.findRefresh(digest);
  const used = await tokens.findAccess(tokenDigest(usedAccessToken));
  const until = refresh
    ? refreshableUntilOf({ refreshedAt: refresh.lastUsedAt, endsAt: refresh.endsAt })
    : 0;
  if (!refresh || until <= now || used?.refreshDigest !== digest)
    throw errors.invalidRefreshToken();
  if (!isWithinNetworks(refresh.allowedNetworks, client)) {
    throw errors.invalidRefreshToken({ user: refresh.email, token: credentialId(digest) });
  }
  return { refresh, used };
}

/**
 * Returns the email of a pair of tokens, without a write. @throws ServiceError
 * `invalid_refresh_token`, `rate_limited`
 */
export async function refreshingUser(
  context: VaultContext,
  request: RefreshRequest,
): Promise<string> {
  const now = context.clock.now();
  const { refresh } = await context.store.read(
    (transaction) => findPair(transaction, request, now),
    { account: tokenDigest(request.refreshToken) },
  );
  countRequest(context, { ...refresh, login: refresh.digest });
  return refresh.email;
}

/**
 * Issues a new access token of the same scope, lifetime and networks. The refresh token is
 * unchanged and its 90 days restart.
 * @param email of `refreshingUser`
 * @throws ServiceError `invalid_refresh_token` when it is unknown, expired, not of the same pair as
 * the access token, or of another network
 */
export async function refreshTokens(
  context: VaultContext,
  email: string,
  request: RefreshRequest,
): Promise<TokenResponse> {
  const now = context.clock.now();
  const refreshPair = async (transaction: Transaction): Promise<TokenResponse> => {
    const { refresh, used } = await findPair(transaction, request, now);
    await transaction.tokens.touchRefresh(refresh.digest, now);
    return issueAccess(transaction, refresh, request.refreshToken, {
      now,
      createdAt: used.createdAt,
      name: used.name,
      issuer: used.issuer,
    });
  };
  return context.store.write(refreshPair, { account: email });
}

/**
 * Checks the scope and the lifetime of a token before its user is authenticated.
 * @throws ServiceError `invalid_scope`; `invalid_request` when the server allows only shorter
 * lifetimes
 */
export function requireTokenRules(
  { maxTokenHours }: VaultContext,
  scope: string,
  hours: number,
): void {
  try {
    parseScope(scope);
  } catch (error) {
    if (error instanceof InvalidScopeError) throw errors.invalidScope(error.message);
    throw error;
  }
  if (hours > (maxTokenHours ?? Infinity))
    throw errors.invalidRequest("expiration_hours", `must be at most ${maxTokenHours}`);
}

/**
 * Interval of recorded uses of one token, in milliseconds: a token of a program may be used every
 * second.
 */
const RECORD_INTERVAL_MS = 3_600_000;

/** Uses of access tokens that are not in the store yet: no request waits for their write. */
export class TokenUses {
  #uses = new Map<string, number>();

  /** Notes a use, unless one was recorded within the hour before. */
  note({ digest, usedAt }: Pick<AccessToken, "digest" | "usedAt">, now: number): void {
    if (now - usedAt >= RECORD_INTERVAL_MS) this.#uses.set(digest, now);
  }

  /** Records the noted uses. After a failed write, the next requests note their uses again. */
  async record(store: Store): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    await store.write(async ({ tokens }) => {
      for (const [digest, now] of uses) await tokens.touchAccess(digest, now);
    });
  }
}

import type { TokenResponse } from "../../../protocol/responses.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { isWithin, parseScope } from "../../../protocol/scope.ts";
import { throttledUntil } from "../accounts/login.ts";
import { tokenDigest } from "../accounts/opaque-token.ts";
import { endOldLogins, issueTokensOf } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { clientNetwork } from "../http/client-network.ts";
import { countRequest } from "../protection/token-buckets.ts";
import type { Identity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/** Longest lifetime of the tokens of an identity: afterwards it has to log in again. */
const MAX_HOURS = 24;
/** Number of logins of one identity with valid tokens; older ones end. */
const LOGINS_PER_IDENTITY = 100;

/** Returns the identity as stored, if it may log in to this account. */
async function findIdentity(
  { identities, users }: Transaction,
  { issuer, subject, email }: Omit<Identity, "scope">,
): Promise<Identity | undefined> {
  const identity = await identities.find(issuer, subject);
  if (identity?.email !== email) return undefined;
  const user = await users.find(email);
  return user && !user.disabled ? identity : undefined;
}

/**
 * Rejects a token that is not accepted. Its failures never throttle valid tokens: the workloads of a
 * cluster may share a network.
 */
async function reject({ store, clock, limits }: VaultContext, address: string): Promise<never> {
  const network = clientNetwork(address);
  const subject = `identity:${network}`;
  const now = clock.now();
  const until = await store.write(
    async ({ loginFailures }) => {
      const failures = await loginFailures.since(subject, now - limits.loginWindowMs);
      const throttled = throttledUntil(failures, limits.loginFailuresPerNetwork);
      if (now >= throttled) await loginFailures.add(subject, now);
      return throttled;
    },
    { account: `network:${network}` },
  );
  throw now < until ? errors.tooManyLogins(until - now) : errors.invalidIdentity();
}

/**
 * Returns the identity whose token this is, if it may log in to the account. @throws ServiceError
 * `invalid_credentials`, `rate_limited`; `not_found` when the server trusts no issuer;
 * `unavailable`
 */
export async function authenticateIdentity(
  context: VaultContext,
  { email, identity_token: token }: { readonly email: string; readonly identity_token: string },
  address: string,
): Promise<Identity> {
  if (context.identities === undefined) throw errors.noIdentities();
  const found = await context.identities.verify(token);
  if (found === undefined) return reject(context, address);
  const wanted = { ...found, email: canonicalEmail(email) };
  const party = { account: `network:${clientNetwork(address)}`, login: wanted.email };
  const identity = await context.store.read(
    (transaction) => findIdentity(transaction, wanted),
    party,
  );
  if (identity === undefined) return reject(context, address);
  const digest = tokenDigest(`${identity.issuer} ${identity.subject}`);
  countRequest(context, { email: identity.email, digest, login: digest });
  return identity;
}

/**
 * Issues tokens for an identity. They end after a day at the latest: a refresh does not outlive the
 * workload. @throws ServiceError `invalid_scope`, `quota_exceeded`; `invalid_credentials` when the
 * identity was removed
 */
export async function exchangeToken(
  context: VaultContext,
  identity: Identity,
  { scope = identity.scope, hours }: { readonly scope: string | undefined; readonly hours: number },
): Promise<TokenResponse> {
  if (!isWithin(parseScope(scope), parseScope(identity.scope)))
    throw errors.invalidScope("the scope is wider than what the identity may reach");
  const atMost = Math.min(hours, MAX_HOURS, context.maxTokenHours ?? Infinity);
  const { email, issuer, subject: name } = identity;
  return issueTokensOf(
    context,
    email,
    { scope, hours: atMost, lifetimeHours: atMost, name, issuer },
    async (transaction) => {
      const stored = await findIdentity(transaction, identity);
      if (stored?.scope !== identity.scope) throw errors.invalidIdentity();
      await endOldLogins(transaction, identity, LOGINS_PER_IDENTITY - 1);
    },
  );
}

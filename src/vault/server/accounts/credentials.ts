import type { CredentialRecord } from "../../../protocol/responses.ts";
import { unlimitedScope, formatScope } from "../../../protocol/scope.ts";
import { requireUnlimited } from "../access/permission.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { jsonList } from "../http/json-stream.ts";
import { timestamp } from "../http/timestamp.ts";
import { pagesOf } from "../store/all-pages.ts";
import type { Session, TokenPair } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { type Caller, writeAs } from "./authenticate.ts";
import { partyOf } from "../store/credential.ts";
import { credentialId } from "./opaque-token.ts";
import { refreshableUntilOf } from "./tokens.ts";

/** A valid session or pair of tokens of one user, by its id. */
interface ListedCredential {
  readonly record: CredentialRecord;
  readonly revoke: (transaction: Transaction) => Promise<void>;
}

function ofPair(email: string, pair: TokenPair, current: boolean, now: number): ListedCredential {
  const { refreshDigest, name, scope, createdAt, usedAt, expiresAt, allowedNetworks, endsAt } =
    pair;
  const refreshableUntil = refreshableUntilOf(pair);
  return {
    record: {
      id: credentialId(refreshDigest),
      kind: "token",
      name,
      scope,
      created_at: timestamp(createdAt),
      last_used_at: timestamp(usedAt),
      expires_at: timestamp(expiresAt),
      ...(refreshableUntil > now && { refreshable_until: timestamp(refreshableUntil) }),
      ...(allowedNetworks.length > 0 && { allowed_networks: [...allowedNetworks] }),
      ...(endsAt > 0 && { ends_at: timestamp(endsAt) }),
      current,
    },
    revoke: ({ tokens }) => tokens.removePair(email, refreshDigest),
  };
}

function ofSession(
  { digest, name, createdAt, usedAt, expiresAt }: Session,
  current: boolean,
): ListedCredential {
  return {
    record: {
      id: credentialId(digest),
      kind: "session",
      name,
      scope: formatScope(unlimitedScope),
      created_at: timestamp(createdAt),
      last_used_at: timestamp(usedAt),
      expires_at: timestamp(expiresAt),
      current,
    },
    revoke: ({ sessions }) => sessions.remove(digest),
  };
}

/** Pairs of one page of a list, with scopes of up to 8 KiB each. */
const PAGE = 64;

const isValid = (pair: TokenPair, now: number): boolean =>
  pair.expiresAt > now || refreshableUntilOf(pair) > now;

/** A pair or session in the order of a list; a pair is read again when it is its turn. */
type Listed = { readonly at: number } & (
  | { readonly refreshDigest: string }
  | { readonly session: Session }
);

/** Returns the caller's valid sessions and pairs, the newest first, without what is long in them. */
async function inOrder(
  { store }: VaultContext,
  caller: Caller,
  now: number,
): Promise<readonly Listed[]> {
  const { email } = caller;
  const { logins, live } = await store.read(
    async ({ tokens, sessions }) => ({
      logins: (await tokens.logins(email)).toSorted(),
      live: (await sessions.list(email)).filter(({ expiresAt }) => expiresAt > now),
    }),
    partyOf(caller),
  );
  const listed: Listed[] = [];
  for (const page of pagesOf(logins, PAGE)) {
    const pairs = await store.read(({ tokens }) => tokens.pairs(page), partyOf(caller));
    for (const pair of pairs.filter((each) => isValid(each, now)))
      listed.push({ at: pair.createdAt, refreshDigest: pair.refreshDigest });
  }
  listed.push(...live.map((session) => ({ at: session.createdAt, session })));
  return listed.sort((one, other) => other.at - one.at);
}

async function* credentialPages(
  context: VaultContext,
  caller: Caller,
): AsyncGenerator<CredentialRecord[], void> {
  const { email, credential } = caller;
  const now = context.clock.now();
  for (const page of pagesOf(await inOrder(context, caller, now), PAGE)) {
    const digests = page.flatMap((one) => ("refreshDigest" in one ? one.refreshDigest : []));
    const pairs = new Map(
      (await context.store.read(({ tokens }) => tokens.pairs(digests), partyOf(caller))).map(
        (pair) => [pair.refreshDigest, pair],
      ),
    );
    yield page.flatMap((one) => {
      if ("session" in one)
        return ofSession(one.session, one.session.digest === credential.digest).record;
      const pair = pairs.get(one.refreshDigest);
      return pair && isValid(pair, now)
        ? ofPair(email, pair, pair.refreshDigest === credential.login, now).record
        : [];
    });
  }
}

/**
 * Yields the caller's valid tokens and sessions as JSON, the newest first. @throws ServiceError
 * `out_of_scope`, before the first piece is requested
 */
export function credentialsAsJson(
  context: VaultContext,
  caller: Caller,
): AsyncGenerator<string, void> {
  requireUnlimited(caller.scope);
  return jsonList({}, "tokens", credentialPages(context, caller));
}

/** Returns the caller's valid tokens and sessions with these ids. */
async function credentialsNamed(
  { tokens, sessions }: Transaction,
  { email, credential }: Caller,
  ids: ReadonlySet<string>,
  now: number,
): Promise<ListedCredential[]> {
  const logins = (await tokens.logins(email)).filter((digest) => ids.has(credentialId(digest)));
  const pairs = (await tokens.pairs(logins)).filter((pair) => isValid(pair, now));
  const live = (await sessions.list(email)).filter(
    ({ digest, expiresAt }) => expiresAt > now && ids.has(credentialId(digest)),
  );
  return [
    ...pairs.map((pair) => ofPair(email, pair, pair.refreshDigest === credential.login, now)),
    ...live.map((session) => ofSession(session, session.digest === credential.digest)),
  ];
}

/**
 * Ends tokens and sessions of the caller by their ids: all, or none. @throws ServiceError
 * `out_of_scope`, `token_not_found`
 */
export async function revokeCredentials(
  context: VaultContext,
  caller: Caller,
  ids: readonly string[],
): Promise<string[]> {
  requireUnlimited(caller.scope);
  const revoked = new Set(ids);
  return writeAs(context, caller, async (transaction) => {
    const now = context.clock.now();
    const found = await credentialsNamed(transaction, caller, revoked, now);
    if (found.length < revoked.size) throw errors.tokenNotFound();
    for (const { revoke } of found) await revoke(transaction);
    return [...revoked];
  });
}

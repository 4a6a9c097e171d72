import { formatScope } from "../../../protocol/format-scope.ts";
import type { CredentialRecord } from "../../../protocol/responses.ts";
import { unlimitedScope } from "../../../protocol/scope.ts";
import { requireUnlimited } from "../access/permission.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { timestamp } from "../http/timestamp.ts";
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

async function credentialsOf(
  { tokens, sessions }: Transaction,
  { email, credential }: Caller,
  now: number,
): Promise<ListedCredential[]> {
  const used = await tokens.findAccess(credential.digest);
  const pairs = (await tokens.pairs(email)).filter(
    (pair) => pair.expiresAt > now || refreshableUntilOf(pair) > now,
  );
  const live = (await sessions.list(email)).filter(({ expiresAt }) => expiresAt > now);
  return [
    ...pairs.map((pair) => ({
      at: pair.createdAt,
      listed: ofPair(email, pair, pair.refreshDigest === used?.refreshDigest, now),
    })),
    ...live.map((session) => ({
      at: session.createdAt,
      listed: ofSession(session, session.digest === credential.digest),
    })),
  ]
    .sort((one, other) => other.at - one.at)
    .map(({ listed }) => listed);
}

/**
 * Returns the caller's valid tokens and sessions, the newest first. @throws ServiceError
 * `out_of_scope`
 */
export async function listCredentials(
  { store, clock }: VaultContext,
  caller: Caller,
): Promise<CredentialRecord[]> {
  requireUnlimited(caller.scope);
  const listed = await store.read(
    (transaction) => credentialsOf(transaction, caller, clock.now()),
    partyOf(caller),
  );
  return listed.map(({ record }) => record);
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
  return writeAs(context, caller, async (transaction) => {
    const known = new Map(
      (await credentialsOf(transaction, caller, context.clock.now())).map((credential) => [
        credential.record.id,
        credential,
      ]),
    );
    const revoked = [...new Set(ids)];
    for (const id of revoked) {
      const credential = known.get(id);
      if (!credential) throw errors.tokenNotFound();
      await credential.revoke(transaction);
    }
    return revoked;
  });
}

import { unlimitedScope, type Scope } from "../../../protocol/scope.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { isWithinNetworks } from "./allowed-networks.ts";
import { sentSessionToken } from "./cookies.ts";
import { requireSession, type SessionRequest } from "./sessions.ts";
import { tokenDigest, credentialId } from "./opaque-token.ts";
import { findLive, type Credential, isLive, partyOf } from "../store/credential.ts";
import { chargeChanges, countRequest } from "../protection/token-buckets.ts";
import type { Transaction, Writer } from "../store/store.ts";

/** Authenticated user of a request and the scope of the token. */
export interface Caller {
  /** Canonical email. */
  readonly email: string;
  readonly scope: Scope;
  readonly credential: Credential;
}

/**
 * Returns the valid token or session of a request, whatever else is wrong with it, or `undefined`;
 * a token from another network is not valid.
 */
export async function liveCredential(
  context: VaultContext,
  request: SessionRequest,
): Promise<
  (Pick<Credential, "kind" | "digest" | "login"> & { readonly email: string }) | undefined
> {
  const { authorization } = request.headers;
  const token = authorization ?? sentSessionToken(request, context.appUrl());
  if (token === undefined || token === "") return undefined;
  const kind = authorization === undefined ? "session" : "token";
  const digest = tokenDigest(token);
  const live = await context.store.readOne(
    (transaction) => findLive(transaction, { kind, digest }, context.clock.now()),
    { account: digest },
  );
  if (!live || !isWithinNetworks(live.allowedNetworks, request.ip)) return undefined;
  return { kind, digest, email: live.email, login: live.login };
}

/**
 * Resolves the credentials of a request. @throws ServiceError `invalid_token`, `csrf_failed`,
 * `rate_limited`, in this order
 */
async function identify(context: VaultContext, request: SessionRequest): Promise<Caller> {
  if (
    request.headers.authorization === undefined &&
    sentSessionToken(request, context.appUrl()) !== undefined
  ) {
    const { email, digest, expiresAt } = await requireSession(context, request);
    return {
      email,
      scope: unlimitedScope,
      credential: { kind: "session", digest, login: digest, expiresAt },
    };
  }
  const digest = tokenDigest(request.headers.authorization ?? "");
  const token = await context.store.readOne(({ tokens }) => tokens.findAccess(digest), {
    account: digest,
  });
  if (!token || token.expiresAt <= context.clock.now()) {
    throw errors.invalidAccessToken();
  }
  const { email, expiresAt, refreshDigest: login } = token;
  // Before the request counts for the account: otherwise a thief could throttle the account.
  if (!isWithinNetworks(token.allowedNetworks, request.ip))
    throw errors.invalidAccessToken({ user: email, token: credentialId(login) });
  countRequest(context, { email, digest, login });
  context.tokenUses.note(token, context.clock.now());
  return {
    email,
    scope: context.scopes.parse(token.scope),
    credential: { kind: "token", digest, login, expiresAt },
  };
}

/**
 * Authenticates a request by the access token in `authorization` or, without that header, by the
 * session cookie. `email` must be the email of that user.
 * @throws ServiceError `invalid_token`, `csrf_failed`, `rate_limited` or `email_mismatch`, in this
 * order
 */
export async function authenticate(
  context: VaultContext,
  request: SessionRequest,
  email: string,
): Promise<Caller> {
  const caller = await identify(context, request);
  if (canonicalEmail(email) === caller.email) return caller;
  throw errors.emailMismatch("email", caller.email);
}

/**
 * Counts changes of a write for its caller before they are made; only once when the transaction
 * runs again.
 */
export type Charge = (changes: number) => void;

/** The work of a write. */
type CallersWork<T> = (transaction: Transaction, charge: Charge) => Promise<T>;

/** The parts of a server that a write of a caller uses. */
type WriteContext = Pick<VaultContext, "store" | "clock" | "requestRate" | "limits">;

/**
 * Runs a write of an authenticated caller in one transaction. The transaction checks the token or
 * session again: a user who was disabled or deleted, or whose credential was revoked, since the
 * request was authenticated writes nothing.
 * @param writer `ownerOf` when the write may change the data of another account
 * @throws ServiceError `invalid_token`, and whatever `work` throws
 */
export function writeAs<T>(
  context: WriteContext,
  caller: Caller,
  work: CallersWork<T>,
  writer: Pick<Writer, "ownerOf" | "wide"> = {},
): Promise<T> {
  const { store, clock } = context;
  const { credential } = caller;
  let charged = 0;
  const whileLive = async (transaction: Transaction): Promise<T> => {
    if (!(await isLive(transaction, credential, clock.now()))) throw errors.invalidAccessToken();
    let counted = 0;
    return work(transaction, (changes) => {
      counted += changes;
      if (counted <= charged) return;
      chargeChanges(context, caller, counted - charged);
      charged = counted;
    });
  };
  return store.write(whileLive, { ...partyOf(caller), ...writer });
}

/** Does the same for a write of grants (`wide` of `Writer`). */
export function writeWide<T>(
  context: WriteContext,
  caller: Caller,
  work: CallersWork<T>,
): Promise<T> {
  return writeAs(context, caller, work, { wide: true });
}

import type { FastifyRequest } from "fastify";
import type { SessionInfo } from "../../../protocol/schemas/session.ts";
import { newToken, tokenDigest } from "./opaque-token.ts";
import { countRequest } from "../protection/token-buckets.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Session } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { csrfToken, requireOwnOrigin, requireCsrfToken } from "./csrf.ts";
import { sentSessionToken } from "./cookies.ts";

/** A session ends one hour after its last use (docs/design/security.md#web-session). */
const IDLE_MS = 3_600_000;
/** A session ends 12 hours after its login, used or not. */
const MAX_AGE_MS = 12 * IDLE_MS;
/**
 * Interval of writes to the store, in ms; a session may end this much earlier than an hour after
 * its last use.
 */
const WRITE_INTERVAL_MS = 60_000;

/** Number of sessions of one account that are kept: the least recently used ones end. */
const SESSIONS_PER_ACCOUNT = 100;

/** A session with the token of its cookie. */
export interface LiveSession {
  /** Canonical email. */
  readonly email: string;
  readonly token: string;
  readonly digest: string;
  /** Wall-clock time; extended by use. */
  readonly expiresAt: number;
}

/** Parts of a request that authenticate a session. */
export type SessionRequest = Pick<FastifyRequest, "headers" | "cookies" | "ip">;

/** The browser of a user who has just authenticated. */
export interface Browser {
  readonly name: string;
  /** Token of the session that it had, of whichever account. */
  readonly formerToken: string | undefined;
}

/**
 * Starts a session, and ends the one that the browser had: no session survives a login. Beyond
 * their number, the least recently used session of the account ends.
 */
export async function openSession(
  { sessions }: Transaction,
  email: string,
  { name, formerToken }: Browser,
  now: number,
): Promise<LiveSession> {
  if (formerToken !== undefined) await sessions.remove(tokenDigest(formerToken));
  const token = newToken();
  const session = {
    email,
    name,
    digest: tokenDigest(token),
    createdAt: now,
    expiresAt: now + IDLE_MS,
    usedAt: now,
  };
  await sessions.insert(session);
  await sessions.removeOld(session, SESSIONS_PER_ACCOUNT);
  return { ...session, token };
}

/** Returns what the web application learns about a session. */
export function describeSession({ email, token }: LiveSession): SessionInfo {
  return { email, csrf_token: csrfToken(token) };
}

/** Returns the session of a request, if it is live. */
async function sentSession(
  context: VaultContext,
  request: SessionRequest,
): Promise<(Session & LiveSession) | undefined> {
  const token = sentSessionToken(request, context.appUrl());
  if (token === undefined || token === "") return undefined;
  const digest = tokenDigest(token);
  const session = await context.store.readOne(({ sessions }) => sessions.find(digest), {
    account: digest,
  });
  return session && session.expiresAt > context.clock.now() ? { ...session, token } : undefined;
}

/**
 * Counts a request of a session, extends the session, and returns it with its new expiry. @throws
 * ServiceError `rate_limited`
 */
async function use(
  context: VaultContext,
  session: Session & LiveSession,
): Promise<Session & LiveSession> {
  const { store, clock } = context;
  countRequest(context, { ...session, login: session.digest });
  const now = clock.now();
  if (now - session.usedAt < WRITE_INTERVAL_MS) return session;
  const expiresAt = Math.min(now + IDLE_MS, session.createdAt + MAX_AGE_MS);
  const used = { ...session, expiresAt, usedAt: now };
  await store.write(({ sessions }) => sessions.update(used), { account: session.email });
  return used;
}

/**
 * Returns the session of a request that opens the page, or `undefined`. It needs no CSRF token,
 * because its response contains the token.
 * @throws ServiceError `csrf_failed` for another origin, `rate_limited`
 */
export async function currentSession(
  context: VaultContext,
  request: SessionRequest,
): Promise<LiveSession | undefined> {
  requireOwnOrigin(request.headers, context.appUrl());
  const session = await sentSession(context, request);
  return session && use(context, session);
}

/**
 * Returns the session of a request.
 * @throws ServiceError `invalid_token` when it is missing or expired, `csrf_failed`,
 * `rate_limited`, in this order
 */
export async function requireSession(
  context: VaultContext,
  request: SessionRequest,
): Promise<LiveSession> {
  const session = await sentSession(context, request);
  if (!session) throw errors.sessionExpired();
  requireCsrfToken(request.headers, context.appUrl(), session.token);
  return use(context, session);
}

/**
 * Returns the session that a request ends, or `undefined` when it had already ended.
 * @throws ServiceError `csrf_failed`
 */
export async function endingSession(
  context: VaultContext,
  request: SessionRequest,
): Promise<LiveSession | undefined> {
  requireOwnOrigin(request.headers, context.appUrl());
  const session = await sentSession(context, request);
  if (session) requireCsrfToken(request.headers, context.appUrl(), session.token);
  return session;
}

/** Ends a session immediately and on every replica. */
export async function endSession(
  { store }: VaultContext,
  { email, digest }: LiveSession,
): Promise<void> {
  await store.write(({ sessions }) => sessions.remove(digest), { account: email });
}

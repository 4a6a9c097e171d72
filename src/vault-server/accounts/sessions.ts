import type { FastifyRequest } from "fastify";
import type { SessionInfo } from "../../protocol/schemas/session.ts";
import { newToken, tokenDigest } from "./opaque-token.ts";
import { countRequest } from "./token-buckets.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Session } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { csrfToken, requireOwnOrigin, requireOwnPage } from "./csrf.ts";
import { sentSessionToken } from "./session-cookie.ts";

/** A session ends this long after its last use, and this long after its log-in in any case. Source: issue 4; design, "security". */
const IDLE_MS = 3_600_000;
const LONGEST_MS = 12 * IDLE_MS;
/** Use is written down at most this often, so a session may end this much earlier than an hour after it. */
const WRITTEN_EVERY_MS = 60_000;

/** Somebody's session with the token that the browser holds. */
export interface LiveSession {
  /** Canonical. */
  readonly email: string;
  readonly token: string;
}

/** The parts of a request that carry a session. */
export type SessionRequest = Pick<FastifyRequest, "headers" | "cookies">;

/** Starts a session of an account that has just proved who it is. */
export async function openSession({ sessions }: Transaction, email: string, now: number): Promise<LiveSession> {
  const token = newToken();
  await sessions.insert({ digest: tokenDigest(token), email, createdAt: now, expiresAt: now + IDLE_MS });
  return { email, token };
}

/** The session as the page is told of it. */
export function describeSession({ email, token }: LiveSession): SessionInfo {
  return { email, csrf_token: csrfToken(token) };
}

async function find(context: VaultContext, token: string | undefined): Promise<Session | undefined> {
  if (token === undefined || token === "") return undefined;
  const session = await context.store.read(({ sessions }) => sessions.find(tokenDigest(token)));
  return session && session.expiresAt > context.clock.now() ? session : undefined;
}

async function prolong({ store, clock }: VaultContext, session: Session): Promise<void> {
  const expiresAt = Math.min(clock.now() + IDLE_MS, session.createdAt + LONGEST_MS);
  if (expiresAt - session.expiresAt < WRITTEN_EVERY_MS) return;
  await store.write(({ sessions }) => sessions.update({ ...session, expiresAt }));
}

/**
 * The session of whoever opens the page, without its csrf token, which they are about to be told; `undefined` when there is none.
 * @throws ServiceError `csrf_failed` for another origin's page, `rate_limited`
 */
export async function currentSession(context: VaultContext, request: SessionRequest): Promise<LiveSession | undefined> {
  requireOwnOrigin(request.headers, context.appUrl());
  const token = sentSessionToken(request, context.appUrl());
  const session = await find(context, token);
  if (token === undefined || !session) return undefined;
  countRequest(context, session.digest);
  await prolong(context, session);
  return { email: session.email, token };
}

/**
 * The session a request is made with.
 * @throws ServiceError `invalid_token` when there is none or it is over, `csrf_failed`, `rate_limited`, in this order
 */
export async function requireSession(context: VaultContext, request: SessionRequest): Promise<LiveSession> {
  const token = sentSessionToken(request, context.appUrl());
  const session = await find(context, token);
  if (token === undefined || !session) throw errors.sessionExpired();
  requireOwnPage(request.headers, context.appUrl(), token);
  countRequest(context, session.digest);
  await prolong(context, session);
  return { email: session.email, token };
}

/**
 * Ends the session of a request, at once and on every replica, and answers whose it was; one that is over already is no failure.
 * @throws ServiceError `csrf_failed`
 */
export async function endSession(context: VaultContext, request: SessionRequest): Promise<string | undefined> {
  requireOwnOrigin(request.headers, context.appUrl());
  const token = sentSessionToken(request, context.appUrl());
  const session = await find(context, token);
  if (token === undefined || !session) return undefined;
  requireOwnPage(request.headers, context.appUrl(), token);
  await context.store.write(({ sessions }) => sessions.remove(session.digest));
  return session.email;
}

import { parseScope } from "../../protocol/parse-scope.ts";
import { unlimitedScope, type Scope } from "../../protocol/scope.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { sentSessionToken } from "./session-cookie.ts";
import { requireSession, type SessionRequest } from "./sessions.ts";
import { tokenDigest } from "./opaque-token.ts";
import { countRequest } from "./token-buckets.ts";

/** Whom a request comes from, by its token or session. */
export interface Caller {
  /** Canonical. */
  readonly email: string;
  readonly scope: Scope;
}

/** Whom the request's credentials stand for. @throws ServiceError `invalid_token`, `csrf_failed`, `rate_limited`, in this order */
async function identify(context: VaultContext, request: SessionRequest): Promise<Caller> {
  if (request.headers.authorization === undefined && sentSessionToken(request, context.appUrl()) !== undefined) {
    return { email: (await requireSession(context, request)).email, scope: unlimitedScope };
  }
  const digest = tokenDigest(request.headers.authorization ?? "");
  const token = await context.store.read(({ tokens }) => tokens.findAccess(digest));
  if (!token || token.expiresAt <= context.clock.now()) {
    throw errors.invalidAccessToken();
  }
  countRequest(context, digest);
  return { email: token.email, scope: parseScope(token.scope) };
}

/**
 * The owner of the bare access token in `authorization` or, without that header, of the web application's session; they must be the one
 * the request names.
 * @throws ServiceError `invalid_token`, `csrf_failed`, `rate_limited` or `email_mismatch`, in this order
 */
export async function authenticate(context: VaultContext, request: SessionRequest, email: string): Promise<Caller> {
  const caller = await identify(context, request);
  if (canonicalEmail(email) === caller.email) return caller;
  throw errors.emailMismatch("email", caller.email);
}

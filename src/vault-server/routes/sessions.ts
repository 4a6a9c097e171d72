import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sessionOperations, type LoginResponse } from "../../protocol/session-operations.ts";
import { formatScope } from "../../protocol/format-scope.ts";
import { unlimitedScope } from "../../protocol/scope.ts";
import { logIn, requireSamePassword } from "../accounts/login.ts";
import { tokenDigest } from "../accounts/opaque-token.ts";
import { issueTokens } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { identify } from "../http/identify.ts";
import { openOperation } from "./operation.ts";
import { requireOwnOrigin } from "../accounts/csrf.ts";
import { changePassword } from "../accounts/change-password.ts";
import { requestPassword } from "../accounts/request-password.ts";
import { clearSessionCookie, sentSessionToken, setSessionCookie } from "../accounts/session-cookie.ts";
import {
  currentSession,
  describeSession,
  endingSession,
  endSession,
  openSession,
  requireSession,
  type LiveSession,
} from "../accounts/sessions.ts";
import { provenEmail, setPassword } from "../accounts/set-password.ts";

/** Lifetime of an access token that a user copies from the web application. */
const API_TOKEN_HOURS = 24;

/** Starts a session after a password check and ends the session that the browser had, so that no session survives a login. */
async function startSession(context: VaultContext, request: FastifyRequest, email: string, password: string) {
  const user = await logIn(context, email, password, request.ip);
  identify(request, user.email);
  await request.trail?.begin();
  const former = sentSessionToken(request, context.appUrl());
  return context.store.write(async (transaction) => {
    await requireSamePassword(transaction, user);
    if (former !== undefined) await transaction.sessions.remove(tokenDigest(former));
    return openSession(transaction, user.email, context.clock.now());
  });
}

/** Adds the operations of the web application (docs/design/vault-contract.md#web-application). */
export function sessionRoutes(app: FastifyInstance, context: VaultContext): void {
  const respondWithSession = (reply: FastifyReply, session: LiveSession): LoginResponse => {
    setSessionCookie(reply, context.appUrl(), session.token);
    return { session: describeSession(session) };
  };

  openOperation(app, context, sessionOperations.app_session, async ({ request }) => {
    const session = await currentSession(context, request);
    if (session) identify(request, session.email);
    return { session: session ? describeSession(session) : null, sign_up: context.signUp.mode };
  });

  openOperation(app, context, sessionOperations.app_log_in, async ({ body, request, reply }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    return respondWithSession(reply, await startSession(context, request, body.email, body.password));
  });

  openOperation(app, context, sessionOperations.app_log_out, async ({ request, reply }) => {
    const session = await endingSession(context, request);
    if (session) {
      identify(request, session.email);
      await request.trail?.begin();
      await endSession(context, session);
    }
    clearSessionCookie(reply, context.appUrl());
    return {};
  });

  openOperation(app, context, sessionOperations.app_request_password, async ({ body, request }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    await requestPassword(context, body.email, request.ip, async () => request.trail?.begin());
    return {};
  });

  openOperation(app, context, sessionOperations.app_confirmation, async ({ body, request }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    return { email: await provenEmail(context, body.token) };
  });

  openOperation(app, context, sessionOperations.app_set_password, async ({ body, request, reply }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    const email = await provenEmail(context, body.token);
    identify(request, email);
    await request.trail?.begin();
    return respondWithSession(reply, await setPassword(context, body.token, body.password, request.ip));
  });

  openOperation(app, context, sessionOperations.app_change_password, async ({ body, request, reply }) => {
    const { email } = await requireSession(context, request);
    identify(request, email);
    const { password, new_password: newPassword } = body;
    const change = { email, password, newPassword, client: request.ip };
    return respondWithSession(reply, await changePassword(context, change, async () => request.trail?.begin()));
  });

  openOperation(app, context, sessionOperations.app_api_token, async ({ body, request }) => {
    const { email } = await requireSession(context, request);
    identify(request, email);
    const user = await logIn(context, email, body.password, request.ip);
    await request.trail?.begin();
    return issueTokens(context, user, formatScope(unlimitedScope), API_TOKEN_HOURS);
  });
}

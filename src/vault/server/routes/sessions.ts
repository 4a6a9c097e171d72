import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sessionOperations, type LoginResponse } from "../../../protocol/session-operations.ts";
import { unlimitedScope, formatScope } from "../../../protocol/scope.ts";
import { logIn, requireSamePassword } from "../accounts/login.ts";
import {
  sentDeviceCookie,
  setDeviceCookie,
  clearSessionCookie,
  sentSessionToken,
  setSessionCookie,
} from "../accounts/cookies.ts";
import type { LoginClient } from "../accounts/known-client.ts";
import { issueTokens, requireTokenRules, tokenLimits } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { clientName } from "../http/client-name.ts";
import { identify } from "../http/identify.ts";
import { openOperation } from "./operation.ts";
import { requireOwnOrigin } from "../accounts/csrf.ts";
import { changePassword, provenEmail, setPassword } from "../accounts/change-password.ts";
import { requestPassword } from "../accounts/request-password.ts";
import {
  type Browser,
  currentSession,
  describeSession,
  endingSession,
  endSession,
  openSession,
  requireSession,
  type LiveSession,
} from "../accounts/sessions.ts";

/**
 * Lifetime of an access token that a user copies from the web application, unless the user chooses
 * another one.
 */
const API_TOKEN_HOURS = 24;

/** Number of users that the page for a new password names at most. */
const MAX_INVITERS = 5;

const browserName = ({ headers }: FastifyRequest): string => clientName(headers["user-agent"]);

function browserOf({ appUrl }: VaultContext, request: FastifyRequest): Browser {
  return { name: browserName(request), formerToken: sentSessionToken(request, appUrl()) };
}

/** Returns the client of a login to the web application. */
function clientOf({ appUrl }: VaultContext, request: FastifyRequest): LoginClient {
  return { address: request.ip, device: sentDeviceCookie(request, appUrl()) };
}

/** Starts a session after a password check. */
async function startSession(
  context: VaultContext,
  request: FastifyRequest,
  email: string,
  password: string,
) {
  const user = await logIn(context, email, password, clientOf(context, request));
  identify(request, user.email);
  await request.trail?.begin();
  return context.store.write(
    async (transaction) => {
      await requireSamePassword(transaction, user);
      const browser = browserOf(context, request);
      return openSession(transaction, user.email, browser, context.clock.now());
    },
    { account: user.email },
  );
}

async function respondWithSession(
  context: VaultContext,
  reply: FastifyReply,
  session: LiveSession,
): Promise<LoginResponse> {
  setSessionCookie(reply, context.appUrl(), session.token);
  await setDeviceCookie(context, reply, session.email);
  return { session: describeSession(session) };
}

/** Adds the operations that start, describe and end a session. */
function loginRoutes(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, sessionOperations.app_session, async ({ request }) => {
    const session = await currentSession(context, request);
    if (session) identify(request, session.email);
    const hasAccounts = session ? true : await context.store.readOne(({ users }) => users.any());
    return {
      session: session ? describeSession(session) : null,
      sign_up: context.signUp.mode,
      email_delivery: context.emailDelivery,
      trash_days: context.trashDays,
      ...(!hasAccounts && { no_accounts: true }),
    };
  });

  openOperation(app, context, sessionOperations.app_log_in, async ({ body, request, reply }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    return respondWithSession(
      context,
      reply,
      await startSession(context, request, body.email, body.password),
    );
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
}

/** Adds the operations that set or change a password; both start a session. */
function passwordRoutes(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, sessionOperations.app_request_password, async ({ body, request }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    await requestPassword(context, body.email, request.ip, async () => request.trail?.begin());
    return {};
  });

  openOperation(app, context, sessionOperations.app_confirmation, async ({ body, request }) => {
    requireOwnOrigin(request.headers, context.appUrl());
    const email = await provenEmail(context, body.token);
    const invitedBy = await context.store.read(
      ({ grants }) => grants.inviters(email, MAX_INVITERS),
      { account: email },
    );
    return { email, invited_by: invitedBy };
  });

  openOperation(
    app,
    context,
    sessionOperations.app_set_password,
    async ({ body, request, reply }) => {
      requireOwnOrigin(request.headers, context.appUrl());
      const email = await provenEmail(context, body.token);
      identify(request, email);
      await request.trail?.begin();
      const browser = browserOf(context, request);
      return respondWithSession(
        context,
        reply,
        await setPassword(context, { ...body, client: request.ip, browser }),
      );
    },
  );

  openOperation(
    app,
    context,
    sessionOperations.app_change_password,
    async ({ body, request, reply }) => {
      const { email } = await requireSession(context, request);
      identify(request, email);
      const { password, new_password: newPassword } = body;
      const change = {
        email,
        password,
        newPassword,
        client: clientOf(context, request),
        browser: browserOf(context, request),
      };
      return respondWithSession(
        context,
        reply,
        await changePassword(context, change, async () => request.trail?.begin()),
      );
    },
  );
}

/** Adds the operation that issues tokens to copy. It asks for the password again. */
function apiTokenRoute(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, sessionOperations.app_api_token, async ({ body, request }) => {
    const { email } = await requireSession(context, request);
    identify(request, email);
    const {
      name = browserName(request),
      scope = formatScope(unlimitedScope),
      expiration_hours: hours = API_TOKEN_HOURS,
    } = body;
    if (body.scope !== undefined || body.expiration_hours !== undefined)
      requireTokenRules(context, scope, hours);
    const limits = tokenLimits(body);
    const user = await logIn(context, email, body.password, clientOf(context, request));
    await request.trail?.begin();
    return issueTokens(context, user, { scope, hours, name, ...limits });
  });
}

/** Adds the operations of the web application (docs/design/vault-contract.md#web-application). */
export function sessionRoutes(app: FastifyInstance, context: VaultContext): void {
  loginRoutes(app, context);
  passwordRoutes(app, context);
  apiTokenRoute(app, context);
}

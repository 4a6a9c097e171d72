import type { FastifyInstance } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import { credentialsAsJson, revokeCredentials } from "../accounts/credentials.ts";
import { logIn } from "../accounts/login.ts";
import {
  issueTokens,
  refreshingUser,
  refreshTokens,
  requireTokenRules,
  tokenLimits,
} from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { clientName } from "../http/client-name.ts";
import { identify } from "../http/identify.ts";
import { sendJson } from "../http/json-stream.ts";
import { authenticateIdentity, exchangeToken } from "../identities/exchange-token.ts";
import { chargedByLength } from "../protection/token-buckets.ts";
import { authenticatedOperation, openOperation } from "./operation.ts";

/** Adds the operations that issue, list and end tokens (docs/design/vault-contract.md#tokens). */
export function tokenRoutes(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, operations.generate_access_token, async ({ body, request }) => {
    requireTokenRules(context, body.scope, body.expiration_hours);
    const limits = tokenLimits(body);
    const client = { address: request.ip, userAgent: request.headers["user-agent"] };
    const user = await logIn(context, body.email, body.password, client);
    identify(request, user.email);
    await request.trail?.begin();
    const name = clientName(request.headers["user-agent"]);
    return issueTokens(context, user, {
      scope: body.scope,
      hours: body.expiration_hours,
      name,
      ...limits,
    });
  });

  openOperation(app, context, operations.exchange_identity_token, async ({ body, request }) => {
    const { scope, expiration_hours: hours } = body;
    if (scope !== undefined) requireTokenRules(context, scope, 0);
    const identity = await authenticateIdentity(context, body, request.ip);
    identify(request, identity.email);
    const { issuer, subject } = identity;
    request.trail?.describeCaller({ identity: `${issuer} ${subject}` });
    await request.trail?.begin();
    return exchangeToken(context, identity, { scope, hours });
  });

  openOperation(app, context, operations.refresh_token, async ({ body, request }) => {
    const { refresh_token: refreshToken, used_access_token: usedAccessToken } = body;
    const refresh = { refreshToken, usedAccessToken, client: request.ip };
    const email = await refreshingUser(context, refresh);
    identify(request, email);
    await request.trail?.begin();
    return refreshTokens(context, email, refresh);
  });

  authenticatedOperation(app, context, operations.token_list, async ({ caller, reply }) => {
    const tokens = credentialsAsJson(context, caller);
    await context.openLists.enterStream(caller.email, reply);
    reply.header("cache-control", "no-store");
    return sendJson(context, reply, chargedByLength(context, caller, tokens));
  });

  authenticatedOperation(app, context, operations.token_revoke, async ({ body, caller }) => ({
    revoked: await revokeCredentials(context, caller, body.id),
  }));
}

import type { FastifyInstance } from "fastify";
import { InvalidScopeError, parseScope } from "../../protocol/parse-scope.ts";
import { operations } from "../../protocol/operations.ts";
import { listCredentials, revokeCredentials } from "../accounts/credentials.ts";
import { logIn } from "../accounts/login.ts";
import { issueTokens, refreshingUser, refreshTokens } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { identify } from "../http/identify.ts";
import { authenticatedOperation, openOperation } from "./operation.ts";
import { errors } from "../errors.ts";

/** @throws ServiceError `invalid_scope` */
function checkScope(scope: string): void {
  try {
    parseScope(scope);
  } catch (error) {
    if (error instanceof InvalidScopeError) throw errors.invalidScope(error.message);
    throw error;
  }
}

/** Adds the operations that issue, list and end tokens (docs/design/vault-contract.md#tokens). */
export function tokenRoutes(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, operations.generate_access_token, async ({ body, request }) => {
    checkScope(body.scope);
    if (body.expiration_hours > (context.maxTokenHours ?? Infinity)) {
      throw errors.invalidRequest("expiration_hours", `must be at most ${context.maxTokenHours}`);
    }
    const user = await logIn(context, body.email, body.password, request.ip);
    identify(request, user.email);
    await request.trail?.begin();
    return issueTokens(context, user, body.scope, body.expiration_hours);
  });

  openOperation(app, context, operations.refresh_token, async ({ body, request }) => {
    const { refresh_token: refreshToken, used_access_token: usedAccessToken } = body;
    identify(request, await refreshingUser(context, refreshToken, usedAccessToken));
    await request.trail?.begin();
    return refreshTokens(context, refreshToken, usedAccessToken);
  });

  authenticatedOperation(app, context, operations.token_list, async ({ caller, reply }) => {
    reply.header("cache-control", "no-store");
    return { tokens: await listCredentials(context, caller) };
  });

  authenticatedOperation(app, context, operations.token_revoke, async ({ body, caller }) => ({
    revoked: await revokeCredentials(context, caller, body.id),
  }));
}

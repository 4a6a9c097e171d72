import type { FastifyInstance } from "fastify";
import { InvalidScopeError, parseScope } from "../../protocol/parse-scope.ts";
import { operations } from "../../protocol/operations.ts";
import { logIn } from "../accounts/login.ts";
import { issueTokens, refreshTokens } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { openOperation } from "./operation.ts";
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

/** Adds the operations that issue tokens (docs/design/vault-contract.md#tokens). */
export function tokenRoutes(app: FastifyInstance, context: VaultContext): void {
  openOperation(app, context, operations.generate_access_token, async ({ body, request }) => {
    checkScope(body.scope);
    const user = await logIn(context, body.email, body.password, request.ip);
    request.trail?.identify(user.email);
    return issueTokens(context, user, body.scope, body.expiration_hours);
  });

  openOperation(app, context, operations.refresh_token, async ({ body, request }) => {
    const { email, response } = await refreshTokens(context, body.refresh_token, body.used_access_token);
    request.trail?.identify(email);
    return response;
  });
}

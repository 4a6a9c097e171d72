import type { z } from "zod";
import type { OperationDefinition } from "./define-operation.ts";
import type { SessionOperation } from "./operation-paths.ts";
import { apiTokenOperation } from "./session-operations/api-token.ts";
import { changePasswordOperation } from "./session-operations/change-password.ts";
import { confirmationOperation } from "./session-operations/confirmation.ts";
import { logInOperation } from "./session-operations/log-in.ts";
import { logOutOperation } from "./session-operations/log-out.ts";
import { requestPasswordOperation } from "./session-operations/request-password.ts";
import { sessionOperation } from "./session-operations/session.ts";
import { setPasswordOperation } from "./session-operations/set-password.ts";

/**
 * Operations that only the web application has. For everything else it sends its session instead of
 * an access token to the vault's operations.
 */
export const sessionOperations = {
  app_session: sessionOperation,
  app_log_in: logInOperation,
  app_log_out: logOutOperation,
  app_request_password: requestPasswordOperation,
  app_confirmation: confirmationOperation,
  app_set_password: setPasswordOperation,
  app_change_password: changePasswordOperation,
  app_api_token: apiTokenOperation,
} satisfies { readonly [Name in SessionOperation]: OperationDefinition & { readonly name: Name } };

/**
 * Response of `app_log_in`, `app_set_password` and `app_change_password`, with the cookie of a new
 * session.
 */
export type LoginResponse = Readonly<
  z.output<(typeof sessionOperations)["app_log_in"]["response"]>
>;

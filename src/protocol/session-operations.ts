import { z } from "zod";
import { type OperationDefinition, defineOperation } from "./define-operation.ts";
import type { SessionOperation } from "./operation-paths.ts";
import { tokenResponse } from "./responses.ts";
import { nameSchema } from "./names.ts";
import { sample } from "./sample-values.ts";
import { expirationHours, callerEmail } from "./schemas/request-fields.ts";
import { allowedNetworks, lifetimeHours } from "./schemas/token-limits.ts";
import { scopeString } from "./schemas/scope-string.ts";
import { emailDelivery, session, signUpMode } from "./schemas/session.ts";
import { canonicalEmail, isPlainEmailAddress } from "./email-address.ts";
import { passwordLength } from "./limits.ts";

const newPassword = z
  .string()
  .min(passwordLength.min)
  .max(passwordLength.max)
  .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
  .meta({
    description:
      "Neither a common password or two, nor a repetition, a sequence, the address or the name of the product with little added.",
  });

const setPasswordOperation = defineOperation({
  name: "app_set_password",
  path: "/app/set_password",
  tag: "Web application",
  summary: "Set a password",
  description:
    "Creates the account or replaces its password, which ends all its sessions and tokens, and starts a session. All other " +
    "password emails of the address become invalid. A replaced password is reported by email.",
  authentication: "none",
  request: () =>
    z.object({
      token: z.string().min(1).max(1024).meta({ description: "From the link in the email." }),
      password: newPassword,
    }),
  response: z.object({ session }),
  errors: ["invalid_confirmation", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { token: sample.confirmation, password: "a long password" },
    response: { session: sample.session },
  },
});

const sessionOperation = defineOperation({
  name: "app_session",
  path: "/app/session",
  tag: "Web application",
  summary: "Read the current session",
  description: "The session is null when the cookie is missing or its session has ended.",
  authentication: "none",
  request: () => z.object({}),
  response: z.object({
    session: session.nullable(),
    sign_up: signUpMode,
    email_delivery: emailDelivery.optional(),
    trash_days: z.int().min(0).optional().meta({
      description: "Days for which deleted secrets and files can be restored; 0 for none.",
    }),
    no_accounts: z.boolean().optional().meta({ description: "True without any account." }),
  }),
  errors: ["csrf_failed"],
  audit: { intent: "never", fields: [] },
  example: {
    request: {},
    response: { session: sample.session, sign_up: "open", email_delivery: "smtp", trash_days: 30 },
  },
});

const requestPasswordOperation = defineOperation({
  name: "app_request_password",
  path: "/app/request_password",
  tag: "Web application",
  summary: "Request an email for setting a password",
  description:
    "Responds the same whether or not the address has an account. At most one email a minute per recipient and 20 in 15 minutes " +
    "per client.",
  authentication: "none",
  request: () =>
    z.object({
      email: z
        .string()
        .refine(isPlainEmailAddress, "expected an email address, without quotation marks")
        .transform(canonicalEmail),
    }),
  response: z.object({}),
  errors: ["rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: { email: sample.email }, response: {} },
});

const logOutOperation = defineOperation({
  name: "app_log_out",
  path: "/app/log_out",
  tag: "Web application",
  summary: "Log out",
  description:
    "Ends the session and deletes its cookie; succeeds also when the session has already ended.",
  authentication: "session",
  request: () => z.object({}),
  response: z.object({}),
  errors: ["csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: {}, response: {} },
});

const logInOperation = defineOperation({
  name: "app_log_in",
  path: "/app/log_in",
  tag: "Web application",
  summary: "Log in",
  description: "Starts a session and sets its cookie; a session that the browser already had ends.",
  authentication: "none",
  request: () => z.object({ email: callerEmail, password: z.string().min(1).max(1024) }),
  response: z.object({ session }),
  errors: ["invalid_credentials", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { email: sample.email, password: "a long password" },
    response: { session: sample.session },
  },
});

const confirmationOperation = defineOperation({
  name: "app_confirmation",
  path: "/app/confirmation",
  tag: "Web application",
  summary: "Read whose password a link sets",
  description:
    "Returns the address that the link in an email was sent to, so that a user does not set the password of an account that another one " +
    "requested the link for.",
  authentication: "none",
  request: () =>
    z.object({
      token: z.string().min(1).max(1024).meta({ description: "From the link in the email." }),
    }),
  response: z.object({
    email: z.string(),
    invited_by: z.array(z.string()).meta({
      description: "Users who share with the address or added it to a team, at most five.",
    }),
  }),
  errors: ["invalid_confirmation", "csrf_failed"],
  audit: { intent: "never", fields: [] },
  example: {
    request: { token: sample.confirmation },
    response: { email: sample.email, invited_by: [sample.otherEmail] },
  },
});

const changePasswordOperation = defineOperation({
  name: "app_change_password",
  path: "/app/change_password",
  tag: "Web application",
  summary: "Change the password",
  description:
    "Requires the current password in addition to the session. Ends all sessions and tokens of the account, starts a session and reports " +
    "the change by email.",
  authentication: "session",
  request: () => z.object({ password: z.string().min(1).max(1024), new_password: newPassword }),
  response: z.object({ session }),
  errors: ["invalid_token", "invalid_credentials", "rate_limited", "csrf_failed"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: { password: "a long password", new_password: "another long password" },
    response: { session: sample.session },
  },
});

const apiTokenOperation = defineOperation({
  name: "app_api_token",
  path: "/app/api_token",
  tag: "Web application",
  summary: "Get an access token for programs",
  description:
    "Returns an access token, unlimited and for 24 hours unless the request says otherwise. Requires the password in addition to the session.",
  authentication: "session",
  request: () =>
    z.object({
      password: z.string().min(1).max(1024),
      name: nameSchema(100)
        .meta({ description: "Shown in the list of tokens; the browser's name when omitted." })
        .optional(),
      scope: scopeString.optional(),
      expiration_hours: expirationHours.optional(),
      allowed_networks: allowedNetworks.optional(),
      lifetime_hours: lifetimeHours.optional(),
    }),
  response: tokenResponse,
  errors: [
    "invalid_token",
    "invalid_scope",
    "invalid_credentials",
    "rate_limited",
    "csrf_failed",
    "quota_exceeded",
  ],
  audit: {
    intent: "authenticated",
    fields: ["scope", "expiration_hours", "allowed_networks", "lifetime_hours"],
  },
  example: {
    request: {
      password: "a long password",
      name: "backup script",
      allowed_networks: ["10.0.0.0/8"],
      lifetime_hours: 8760,
    },
    response: sample.tokens,
  },
});

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

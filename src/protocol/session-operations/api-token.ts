import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { tokenResponse } from "../responses.ts";
import { nameSchema } from "../names.ts";
import { sample } from "../sample-values.ts";
import { expirationHours } from "../schemas/request-fields.ts";
import { allowedNetworks, lifetimeHours } from "../schemas/token-limits.ts";
import { scopeString } from "../schemas/scope-string.ts";

export const apiTokenOperation = defineOperation({
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

import { z } from "zod";
import { characters } from "../names.ts";
import { defineOperation } from "../define-operation.ts";
import { tokenResponse } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerEmail, expirationHours } from "../schemas/request-fields.ts";
import { scopeString } from "../schemas/scope-string.ts";
import { allowedNetworks, lifetimeHours } from "../schemas/token-limits.ts";

export const generateAccessToken = defineOperation({
  name: "generate_access_token",
  path: "/v1/user/generate_access_token",
  tag: "Tokens",
  summary: "Log in and get an access token",
  description:
    "Returns an access token and a refresh token with the requested scope. After five failed logins, further logins of the " +
    "account are throttled.",
  authentication: "none",
  request: () =>
    z.object({
      email: callerEmail,
      password: characters(1024),
      scope: scopeString,
      expiration_hours: expirationHours,
      allowed_networks: allowedNetworks.optional(),
      lifetime_hours: lifetimeHours.optional(),
    }),
  response: tokenResponse,
  errors: ["invalid_credentials", "invalid_scope", "rate_limited", "quota_exceeded"],
  audit: {
    intent: "authenticated",
    fields: ["scope", "expiration_hours", "allowed_networks", "lifetime_hours"],
  },
  example: {
    request: {
      email: sample.email,
      password: "a long password",
      scope: sample.tokens.scope,
      expiration_hours: 24,
    },
    response: sample.tokens,
  },
  links: [
    {
      operation: "refresh_token",
      description: "Get the next access token.",
      request: {
        refresh_token: "$response.body#/refresh_token",
        used_access_token: "$response.body#/access_token",
      },
    },
  ],
});

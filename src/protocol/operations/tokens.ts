import { z } from "zod";
import { characters } from "../names.ts";
import { defineOperation } from "../define-operation.ts";
import { tokenResponse, credentialRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  callerEmail,
  expirationHours,
  callerRequest,
  oneOrMore,
} from "../schemas/request-fields.ts";
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

export const exchangeIdentityToken = defineOperation({
  name: "exchange_identity_token",
  path: "/v1/user/exchange_identity_token",
  tag: "Tokens",
  summary: "Log in with the token of a workload",
  description:
    "Returns an access token and a refresh token for a JWT of an issuer that the server trusts, such as the token of a Kubernetes ServiceAccount. " +
    "Optional: a server without such issuers returns `not_found`. The operator of the server assigns identities to accounts " +
    "(`vaultsync vault identity add`).",
  authentication: "none",
  request: () =>
    z.object({
      email: callerEmail,
      identity_token: characters(8192).meta({
        description: "A JWT with an audience of this server.",
      }),
      scope: scopeString.optional().meta({
        description: "At most what the identity may reach; everything of that by default.",
      }),
      expiration_hours: expirationHours.meta({
        description: "Hours until both tokens end, refreshed or not: at most 24, also for more.",
      }),
    }),
  response: tokenResponse,
  errors: ["invalid_credentials", "invalid_scope", "not_found", "rate_limited", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["scope", "expiration_hours"] },
  example: {
    request: {
      email: sample.email,
      identity_token: "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiJhIn0.c2lnbmF0dXJl",
      scope: sample.tokens.scope,
      expiration_hours: 24,
    },
    response: sample.tokens,
  },
});

export const refreshToken = defineOperation({
  name: "refresh_token",
  path: "/v1/user/refresh_token",
  tag: "Tokens",
  summary: "Get the next access token",
  description:
    "Returns a new access token with the same scope and lifetime. The refresh token stays valid; it expires after 90 days " +
    "without use.",
  authentication: "none",
  request: () =>
    z.object({
      refresh_token: characters(1024),
      used_access_token: characters(1024).meta({
        description: "The access token that the refresh token belongs to; it may have expired.",
      }),
    }),
  response: tokenResponse,
  errors: ["invalid_refresh_token", "rate_limited"],
  audit: { intent: "authenticated", fields: [] },
  example: {
    request: {
      refresh_token: sample.tokens.refresh_token,
      used_access_token: sample.tokens.access_token,
    },
    response: sample.tokens,
  },
});

export const tokenList = defineOperation({
  name: "token_list",
  path: "/v1/user/token/list",
  tag: "Tokens",
  summary: "List the caller's tokens and sessions",
  description:
    "Returns valid sessions and logins of programs, the newest first. One entry stands for a refresh token with all its access tokens. " +
    "Requires a token of unlimited scope.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ tokens: z.array(credentialRecord) }),
  errors: ["out_of_scope"],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { tokens: [sample.credential] } },
  links: [
    {
      operation: "token_revoke",
      description: "End the first one.",
      request: { email: "$request.body#/email", id: "$response.body#/tokens/0/id" },
    },
  ],
});

export const tokenRevoke = defineOperation({
  name: "token_revoke",
  path: "/v1/user/token/revoke",
  tag: "Tokens",
  summary: "End tokens and sessions",
  description:
    "Ends sessions, or refresh tokens with all their access tokens, immediately: all of them, or none. A list that waits with one of them " +
    "ends with `invalid_token`. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: (limits) =>
    callerRequest().extend({
      id: oneOrMore(z.string().min(1).max(64), limits.entriesPerRequest).meta({
        description: "Ids of `token_list`.",
      }),
    }),
  response: z.object({ revoked: z.array(z.string()) }),
  errors: ["out_of_scope", "token_not_found"],
  audit: { intent: "authenticated", fields: ["id"] },
  example: {
    request: { email: sample.email, id: sample.credential.id },
    response: { revoked: [sample.credential.id] },
  },
});

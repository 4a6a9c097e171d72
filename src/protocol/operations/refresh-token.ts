import { z } from "zod";
import { characters } from "../names.ts";
import { defineOperation } from "../define-operation.ts";
import { tokenResponse } from "../responses.ts";
import { sample } from "../sample-values.ts";

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

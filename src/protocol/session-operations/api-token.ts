import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { tokenResponse } from "../responses.ts";
import { sample } from "../sample-values.ts";

export const apiTokenOperation = defineOperation({
  name: "app_api_token",
  path: "/app/api_token",
  tag: "Web application",
  summary: "Get an access token for programs",
  description: "Returns an unlimited access token for 24 hours. Requires the password in addition to the session.",
  authentication: "session",
  request: () => z.object({ password: z.string().min(1).max(1024) }),
  response: tokenResponse,
  errors: ["invalid_token", "invalid_credentials", "rate_limited", "csrf_failed", "quota_exceeded"],
  audit: { intent: "authenticated", fields: [] },
  example: { request: { password: "a long password" }, response: sample.tokens },
});

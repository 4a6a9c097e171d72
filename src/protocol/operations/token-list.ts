import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { credentialRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

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

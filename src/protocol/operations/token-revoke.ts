import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { callerRequest } from "../schemas/request-fields.ts";

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

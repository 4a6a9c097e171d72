import { defineOperation } from "../define-operation.ts";
import { blockedSenders } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

export const blockedSendersOperation = defineOperation({
  name: "blocked_senders",
  path: "/v1/user/blocked_senders",
  tag: "Shared secrets",
  summary: "List the blocked senders",
  description:
    "Returns the senders that the caller has blocked. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: callerRequest,
  response: blockedSenders,
  errors: ["out_of_scope"],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { blocked: [sample.otherEmail] } },
});

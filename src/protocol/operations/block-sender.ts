import { defineOperation } from "../define-operation.ts";
import { blockedSenders } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { sendersRequest } from "../schemas/request-fields.ts";

export const blockSender = defineOperation({
  name: "block_sender",
  path: "/v1/user/block_sender",
  tag: "Shared secrets",
  summary: "Block senders",
  description:
    "Secrets that these users share with the caller or the caller's teams are neither listed nor found, their teams are hidden, and no email " +
    "announces their shares. They cannot notice it. Returns all blocked senders. Requires a token of unlimited scope. Users cannot block themselves: `forbidden`.",
  authentication: "access-token",
  request: sendersRequest,
  response: blockedSenders,
  errors: ["out_of_scope", "forbidden", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["usr_id_from"] },
  example: {
    request: { email: sample.email, usr_id_from: sample.otherEmail },
    response: { blocked: [sample.otherEmail] },
  },
});

import { defineOperation } from "../define-operation.ts";
import { blockedSenders } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { sendersRequest } from "../schemas/request-fields.ts";

export const unblockSender = defineOperation({
  name: "unblock_sender",
  path: "/v1/user/unblock_sender",
  tag: "Shared secrets",
  summary: "Unblock senders",
  description:
    "What these users share with the caller is visible again. Returns the senders that remain blocked. Requires a token of unlimited scope.",
  authentication: "access-token",
  request: sendersRequest,
  response: blockedSenders,
  errors: ["out_of_scope"],
  audit: { intent: "authenticated", fields: ["usr_id_from"] },
  example: {
    request: { email: sample.email, usr_id_from: sample.otherEmail },
    response: { blocked: [] },
  },
});

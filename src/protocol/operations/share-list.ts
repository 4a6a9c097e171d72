import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { listedShare } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { secretRequest } from "../schemas/request-fields.ts";

export const shareList = defineOperation({
  name: "share_list",
  path: "/v1/user/secret/share_list",
  tag: "Shared secrets",
  summary: "List a secret's recipients",
  description:
    "Returns users, then teams, each by code point; empty for a secret that is not shared. A dismissed share is not listed. Only " +
    "the creator may do it.",
  authentication: "access-token",
  request: secretRequest,
  response: z.object({ key_name: z.string(), shares: z.array(listedShare) }),
  compressible: true,
  errors: ["secret_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "never", fields: ["key_name"] },
  example: {
    request: sample.secret,
    response: {
      key_name: sample.secret.key_name,
      shares: [
        { to: sample.otherEmail, kind: "person", permission: "R", state: "active" },
        { to: sample.team.group_id, kind: "team", permission: "RW", state: "invited" },
      ],
    },
  },
});

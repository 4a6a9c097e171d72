import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { owner, secretRequest } from "../schemas/request-fields.ts";

export const deleteSharedKeyLink = defineOperation({
  name: "delete_shared_key_link",
  path: "/v1/user/secret/delete_shared_key_link",
  tag: "Shared secrets",
  summary: "Dismiss a received secret",
  description:
    "Removes it from the caller's list only, until it is shared with the caller or their team again.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner }),
  response: z.object({ removed: z.object({ key_name: z.string(), owner: z.string() }) }),
  errors: ["secret_not_found", "ambiguous_name", "out_of_scope"],
  audit: { intent: "authenticated", fields: ["key_name", "owner"] },
  example: {
    request: sample.link,
    response: { removed: { key_name: sample.link.key_name, owner: sample.link.owner } },
  },
});

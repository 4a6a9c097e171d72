import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { unshareRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  bothKindsOfRecipient,
  recipientsRequest,
  hasOneKindOfRecipient,
  recipientsOf,
} from "../schemas/recipients.ts";
import { callerEmail } from "../schemas/request-fields.ts";

export const unshare = defineOperation({
  name: "unshare",
  path: "/v1/user/secret/unshare",
  tag: "Shared secrets",
  summary: "Revoke shares",
  description:
    "Revokes the shares of the named recipients, or of all when none is named. The list is empty when there was nothing to revoke. " +
    "Without any share left the secret is unshared. Only the creator may do it.",
  authentication: "access-token",
  request: (limits) =>
    recipientsRequest(limits)
      .extend({ usr_id_from: callerEmail.optional() })
      .refine(hasOneKindOfRecipient, bothKindsOfRecipient)
      .transform((body) => ({ ...body, to: recipientsOf(body) }))
      .meta({ not: { required: ["usr_id_to", "group_id_to"] } }),
  response: z.object({ unshared: z.array(unshareRecord) }),
  errors: ["secret_not_found", "out_of_scope", "forbidden"],
  audit: {
    intent: "authenticated",
    fields: ["key_name", "usr_id_from", "usr_id_to", "group_id_to"],
  },
  example: {
    request: { ...sample.secret, usr_id_to: sample.otherEmail },
    response: { unshared: [{ key_name: sample.secret.key_name, from: sample.otherEmail }] },
  },
});

import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { nameSchema } from "../names.ts";
import { sample } from "../sample-values.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { callerEmail } from "../schemas/request-fields.ts";

export const deleteSecrets = defineOperation({
  name: "delete",
  path: "/v1/user/secret/delete",
  tag: "Secrets",
  summary: "Delete secrets with all versions",
  description:
    "Deletes all of the named secrets or none, also for every recipient. Only the creator may do it.",
  authentication: "access-token",
  request: ({ nameCharacters, entriesPerRequest }) =>
    z.object({
      email: callerEmail,
      key_name: oneOrMore(nameSchema(nameCharacters), entriesPerRequest),
    }),
  response: z.object({ deleted: z.array(z.string()) }),
  freesSpace: true,
  errors: ["secret_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "authenticated", fields: ["key_name"] },
  example: {
    request: { email: sample.email, key_name: [sample.secret.key_name] },
    response: { deleted: [sample.secret.key_name] },
  },
});

import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { secretRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { expectedVersion, owner, secretRequest, secretValue } from "../schemas/request-fields.ts";

export const protectLink = defineOperation({
  name: "protect_link",
  path: "/v1/user/secret/protect_link",
  tag: "Shared secrets",
  summary: "Create a shared secret's next version",
  description:
    "For a received secret or the caller's own shared one. Metadata and removal time stay. Requires permission W. Returns the " +
    "caller's list of secrets too, unless without_list is 1.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits).extend({
      owner,
      key_value: secretValue,
      expected_version: expectedVersion,
      without_list: z.int().optional().meta({ description: "1 omits secrets from the response." }),
    }),
  response: z.object({
    secret: secretRecord,
    secrets: z
      .array(secretRecord)
      .optional()
      .meta({ description: "As in list_no_dup; omitted with without_list: 1." }),
  }),
  compressible: true,
  addsData: true,
  errors: [
    "secret_not_found",
    "use_unshared_operation",
    "ambiguous_name",
    "version_changed",
    "out_of_scope",
    "forbidden",
    "quota_exceeded",
  ],
  audit: { intent: "authenticated", fields: ["key_name", "owner"] },
  example: {
    request: { ...sample.link, key_value: sample.exposed.key_value, without_list: 1 },
    response: { secret: sample.sharedRecord },
  },
});

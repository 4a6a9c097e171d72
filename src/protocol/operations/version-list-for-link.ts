import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { versionRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { owner, secretRequest } from "../schemas/request-fields.ts";

export const versionListForLink = defineOperation({
  name: "version_list_for_link",
  path: "/v1/user/secret/version_list_for_link",
  tag: "Shared secrets",
  summary: "List a shared secret's versions",
  description:
    "Returns all versions of a received secret or the caller's own shared one, ascending. Contains no values. Requires permission R.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner }),
  response: z.object({ key_name: z.string(), versions: z.array(versionRecord) }),
  etag: true,
  compressible: true,
  errors: [
    "secret_not_found",
    "use_unshared_operation",
    "ambiguous_name",
    "out_of_scope",
    "forbidden",
  ],
  audit: { intent: "never", fields: ["key_name", "owner"] },
  example: {
    request: sample.link,
    response: {
      key_name: sample.link.key_name,
      versions: [{ ...sample.sharedRecord, created_by: sample.email }],
    },
  },
});

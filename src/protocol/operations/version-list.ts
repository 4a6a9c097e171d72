import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { versionRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { secretRequest } from "../schemas/request-fields.ts";

export const versionList = defineOperation({
  name: "version_list",
  path: "/v1/user/secret/version_list",
  tag: "Secrets",
  summary: "List a secret's versions",
  description: "Returns all versions of the caller's own secret, ascending. Contains no values.",
  authentication: "access-token",
  request: secretRequest,
  response: z.object({ key_name: z.string(), versions: z.array(versionRecord) }),
  etag: true,
  compressible: true,
  errors: ["secret_not_found", "use_link_operation", "out_of_scope"],
  audit: { intent: "never", fields: ["key_name"] },
  example: {
    request: sample.secret,
    response: {
      key_name: sample.secret.key_name,
      versions: [{ ...sample.record, created_by: sample.email }],
    },
  },
});

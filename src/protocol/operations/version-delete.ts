import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { secretRequest, versionNumber } from "../schemas/request-fields.ts";

export const versionDelete = defineOperation({
  name: "version_delete",
  path: "/v1/user/secret/version_delete",
  tag: "Secrets",
  summary: "Delete one version",
  description:
    "Deletes permanently; the version number is never used again. The only version cannot be deleted: delete the secret instead. " +
    "Only the creator may do it.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ key_version: versionNumber }),
  response: z.object({ deleted: z.object({ key_name: z.string(), key_version: z.int().min(1) }) }),
  freesSpace: true,
  errors: [
    "secret_not_found",
    "version_not_found",
    "last_version",
    "out_of_scope",
    "forbidden",
    "quota_exceeded",
  ],
  audit: { intent: "authenticated", fields: ["key_name", "key_version"] },
  example: {
    request: { ...sample.secret, key_version: 1 },
    response: { deleted: { key_name: sample.secret.key_name, key_version: 1 } },
  },
});

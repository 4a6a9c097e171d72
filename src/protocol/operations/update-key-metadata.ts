import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { givenMetadata, metadataObject, standardMetadataFields } from "../metadata.ts";
import { secretRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { owner, secretRequest, versionNumber } from "../schemas/request-fields.ts";

export const updateKeyMetadata = defineOperation({
  name: "update_key_metadata",
  path: "/v1/user/secret/update_key_metadata",
  tag: "Secrets",
  summary: "Change metadata of a version",
  description:
    "Changes only the names in the request, inside metadata or at the top level. Works for shared and unshared secrets; requires " +
    "permission W.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits)
      .extend({ ...standardMetadataFields, owner, key_version: versionNumber, metadata: metadataObject.optional() })
      .refine((body) => body.metadata !== undefined || Object.keys(givenMetadata(body)).length > 0, {
        path: ["metadata"],
        message: "expected the names to change",
      })
      .meta({ anyOf: ["metadata", ...Object.keys(standardMetadataFields)].map((name) => ({ required: [name] })) }),
  response: z.object({ secret: secretRecord }),
  addsData: true,
  errors: ["secret_not_found", "version_not_found", "ambiguous_name", "out_of_scope", "forbidden", "quota_exceeded"],
  audit: { intent: "authenticated", fields: ["key_name", "key_version", "owner"] },
  example: {
    request: { ...sample.secret, key_version: 2, metadata: { project: "shop" } },
    response: { secret: sample.record },
  },
});

import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { metadataObject, standardMetadataFields } from "../metadata.ts";
import { secretRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { deleteTime } from "../schemas/delete-time.ts";
import { secretRequest, secretValue } from "../schemas/request-fields.ts";

const email = "$request.body#/email";
const secret = { email, key_name: "$response.body#/secret/key_name" };
const version = { ...secret, key_version: "$response.body#/secret/key_version" };

export const protect = defineOperation({
  name: "protect",
  path: "/v1/user/secret/protect",
  tag: "Secrets",
  summary: "Create a secret or its next version",
  description:
    "An existing name gets a new version, even when the value is equal. Metadata in the request is changed, the rest is copied " +
    "from the previous version; standard names may also be at the top level. Without delete_time the removal time stays.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits).extend({
      ...standardMetadataFields,
      key_value: secretValue,
      metadata: metadataObject.optional(),
      delete_time: deleteTime,
      expected_version: z
        .int()
        .min(0)
        .optional()
        .meta({
          description:
            "The latest version that the caller knows, 0 for a new secret; another one returns `version_changed`, a missing secret " +
            "`secret_not_found`, and nothing is changed.",
        }),
    }),
  response: z.object({ secret: secretRecord }),
  addsData: true,
  errors: [
    "secret_not_found",
    "use_link_operation",
    "version_changed",
    "out_of_scope",
    "quota_exceeded",
  ],
  audit: { intent: "authenticated", fields: ["key_name"] },
  example: {
    request: {
      ...sample.secret,
      key_value: sample.exposed.key_value,
      metadata: { environment_type: "dev", project: "shop" },
    },
    response: { secret: sample.record },
  },
  links: [
    { operation: "expose", description: "Read the value.", request: secret },
    { operation: "version_list", description: "List all versions.", request: secret },
    {
      operation: "version_expose",
      description: "Read the value of this version.",
      request: version,
    },
    { operation: "version_delete", description: "Delete this version.", request: version },
    {
      operation: "update_key_metadata",
      description: "Change metadata of this version.",
      request: { ...version, metadata: {} },
    },
    { operation: "delete", description: "Delete the secret.", request: secret },
    {
      operation: "share",
      description: "Share the secret.",
      request: { ...secret, usr_id_from: email, usr_id_to: sample.otherEmail, permission: "R" },
    },
  ],
});

import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { isStandardName, metadataObject, standardMetadataFields } from "../metadata.ts";
import { versionRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { deleteTime } from "../schemas/delete-time.ts";
import { oneOrMore } from "../schemas/one-or-more.ts";
import { expectedVersion, owner, secretRequest, versionNumber } from "../schemas/request-fields.ts";

/** Names that a request takes off a version. */
const removedNames = oneOrMore(
  z
    .string()
    .refine((name) => !isStandardName(name), "a standard name cannot be removed")
    .meta({ not: { enum: Object.keys(standardMetadataFields) } }),
  100,
)
  .optional()
  .meta({
    description: "Custom names to remove; those that the version does not have are ignored.",
  });

/** Members of which a request has at least one. */
const changes = [
  "metadata",
  ...Object.keys(standardMetadataFields),
  "remove_metadata",
  "delete_time",
];

export const updateKeyMetadata = defineOperation({
  name: "update_key_metadata",
  path: "/v1/user/secret/update_key_metadata",
  tag: "Secrets",
  summary: "Change metadata of a version",
  description:
    "Changes only the names in the request, inside metadata or at the top level. Works for shared and unshared secrets; requires " +
    "permission W. delete_time changes the removal time of the secret; only the creator may send it.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits)
      .extend({
        ...standardMetadataFields,
        owner,
        key_version: versionNumber,
        expected_version: expectedVersion,
        metadata: metadataObject.optional(),
        remove_metadata: removedNames,
        delete_time: deleteTime,
      })
      .refine((body) => changes.some((name) => Object.hasOwn(body, name)), {
        path: ["metadata"],
        message: "expected the names to change",
      })
      .meta({ anyOf: changes.map((name) => ({ required: [name] })) }),
  response: z.object({ secret: versionRecord }),
  addsData: true,
  errors: [
    "secret_not_found",
    "version_not_found",
    "ambiguous_name",
    "version_changed",
    "out_of_scope",
    "forbidden",
    "quota_exceeded",
  ],
  audit: { intent: "authenticated", fields: ["key_name", "key_version", "owner"] },
  example: {
    request: { ...sample.secret, key_version: 2, metadata: { project: "shop" } },
    response: { secret: { ...sample.record, created_by: sample.email } },
  },
});

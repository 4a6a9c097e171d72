import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { metadataObject, standardMetadataFields, isStandardName } from "../metadata.ts";
import {
  consumerRecord,
  secretRecord,
  exposedSecret,
  trashedRecord,
  versionRecord,
} from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  secretRequest,
  secretValue,
  callerRequest,
  versionNumber,
  expectedVersion,
  owner,
  callerEmail,
  permanently,
  oneOrMore,
} from "../schemas/request-fields.ts";
import { nameSchema } from "../names.ts";

/** Secrets whose consumers one request lists. */
const MAX_READ = 200;
/** Longest accepted `delete_time`, in minutes. */
const MAX_DELETE_MINUTES = 10 ** 12;

/** Minutes as an integer or a decimal string; `null` is the same as an omitted field. */
const deleteTime = z
  .union([z.int(), z.string().regex(/^[0-9]{1,20}$/u, "expected minutes in digits"), z.null()])
  .transform((minutes) => (minutes === null ? undefined : Number(minutes)))
  .pipe(z.number().min(1).max(MAX_DELETE_MINUTES).optional())
  .meta({
    anyOf: [
      { type: "integer", minimum: 1, maximum: MAX_DELETE_MINUTES },
      { type: "string", maxLength: 20, pattern: "^0*([1-9][0-9]{0,11}|10{12})$" },
      { type: "null" },
    ],
    description:
      "Minutes until the secret is removed, as an integer or in digits; null is the same as omitting it.",
  })
  .optional();

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

export const listNoDup = defineOperation({
  name: "list_no_dup",
  path: "/v1/user/secret/list_no_dup",
  tag: "Secrets",
  summary: "List own and received secrets",
  description:
    "Returns the latest version of each secret that the token reaches and the caller may read, by name, then owner. Contains no " +
    "values.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ secrets: z.array(secretRecord) }),
  etag: true,
  waits: true,
  compressible: true,
  errors: [],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { secrets: [sample.record] } },
});

export const expose = defineOperation({
  name: "expose",
  path: "/v1/user/secret/expose",
  tag: "Secrets",
  summary: "Read a secret's current value",
  description: "For the caller's own secrets that are not shared.",
  authentication: "access-token",
  request: secretRequest,
  response: exposedSecret,
  readsValue: true,
  errors: ["secret_not_found", "use_link_operation", "out_of_scope", "secret_expired"],
  audit: { intent: "never", fields: ["key_name"] },
  example: { request: sample.secret, response: sample.exposed },
});

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

export const consumerList = defineOperation({
  name: "consumer_list",
  path: "/v1/user/consumer_list",
  tag: "Secrets",
  summary: "List the resources that read secrets or a file",
  description:
    "Returns the resources that clients named in the header vaultsync-consumer, the newest read first: at most 50 of each of the " +
    "caller's own secrets, or of a file, each for 90 days after its last read. The request names either secrets or a file.",
  authentication: "access-token",
  request: ({ nameCharacters }) =>
    z
      .object({
        email: callerEmail,
        key_name: oneOrMore(nameSchema(nameCharacters), MAX_READ).optional(),
        filename: nameSchema(nameCharacters).optional(),
      })
      .refine(({ key_name, filename }) => (key_name === undefined) !== (filename === undefined), {
        path: ["key_name"],
        message: "expected either key_name or filename",
      })
      .meta({ oneOf: [{ required: ["key_name"] }, { required: ["filename"] }] }),
  response: z.object({ consumers: z.array(consumerRecord) }),
  errors: ["secret_not_found", "file_not_found", "out_of_scope", "forbidden"],
  audit: { intent: "never", fields: ["key_name", "filename"] },
  example: { request: sample.secret, response: { consumers: [sample.consumer] } },
});

export const versionExpose = defineOperation({
  name: "version_expose",
  path: "/v1/user/secret/version_expose",
  tag: "Secrets",
  summary: "Read the value of one version",
  description:
    "For the caller's own secrets that are not shared. The latest version's metadata decides whether the token reaches the secret.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ key_version: versionNumber }),
  response: exposedSecret,
  readsValue: true,
  errors: [
    "secret_not_found",
    "version_not_found",
    "use_link_operation",
    "out_of_scope",
    "secret_expired",
  ],
  audit: { intent: "never", fields: ["key_name", "key_version"] },
  example: { request: { ...sample.secret, key_version: 2 }, response: sample.exposed },
});

export const versionDelete = defineOperation({
  name: "version_delete",
  path: "/v1/user/secret/version_delete",
  tag: "Secrets",
  summary: "Delete one version",
  description:
    "Deletes permanently; the version number is never used again. The only version cannot be deleted: delete the secret instead. " +
    "Only the creator may do it.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits).extend({
      key_version: versionNumber,
      expected_version: expectedVersion,
    }),
  response: z.object({ deleted: z.object({ key_name: z.string(), key_version: z.int().min(1) }) }),
  freesSpace: true,
  errors: [
    "secret_not_found",
    "version_not_found",
    "version_changed",
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

export const rename = defineOperation({
  name: "rename",
  path: "/v1/user/secret/rename",
  tag: "Secrets",
  summary: "Rename a secret",
  description:
    "Gives a secret another name, in one step, with its versions, their numbers, metadata, removal time and shares. Under the former " +
    "name it is gone, also for recipients. Only the creator may do it.",
  authentication: "access-token",
  request: (limits) =>
    secretRequest(limits).extend({
      new_name: nameSchema(limits.nameCharacters),
      expected_version: expectedVersion,
    }),
  response: z.object({ secret: secretRecord }),
  addsData: true,
  errors: [
    "secret_not_found",
    "name_taken",
    "version_changed",
    "out_of_scope",
    "forbidden",
    "quota_exceeded",
  ],
  audit: { intent: "authenticated", fields: ["key_name", "new_name"] },
  example: {
    request: { ...sample.secret, new_name: "prod/shop-db" },
    response: { secret: { ...sample.record, key_name: "prod/shop-db" } },
  },
});

export const deleteSecrets = defineOperation({
  name: "delete",
  path: "/v1/user/secret/delete",
  tag: "Secrets",
  summary: "Delete secrets with all versions",
  description:
    "Deletes all of the named secrets or none, also for every recipient. Only the creator may do it. A server with a trash keeps " +
    "them there for `trash_restore`, without `permanently`.",
  authentication: "access-token",
  request: ({ nameCharacters, entriesPerRequest }) =>
    z
      .object({
        email: callerEmail,
        key_name: oneOrMore(nameSchema(nameCharacters), entriesPerRequest),
        expected_versions: z
          .array(versionNumber)
          .optional()
          .meta({
            description:
              "The latest version that the caller knows of each name, in the order of key_name; another one returns " +
              "`version_changed`, and nothing is deleted.",
          }),
        permanently,
      })
      .refine(
        ({ key_name, expected_versions }) =>
          (expected_versions ?? key_name).length === key_name.length,
        { path: ["expected_versions"], message: "expected one version for each name" },
      ),
  response: z.object({
    deleted: z.array(z.string()),
    trash: z.array(trashedRecord).optional(),
  }),
  freesSpace: true,
  errors: ["secret_not_found", "version_changed", "out_of_scope", "forbidden"],
  audit: { intent: "authenticated", fields: ["key_name", "permanently"] },
  example: {
    request: { email: sample.email, key_name: [sample.secret.key_name] },
    response: { deleted: [sample.secret.key_name], trash: [sample.trashed] },
  },
});

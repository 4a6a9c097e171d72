import { defineOperation } from "../define-operation.ts";
import { exposedSecret, secretRecord, versionRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  owner,
  secretRequest,
  expectedVersion,
  secretValue,
  versionNumber,
} from "../schemas/request-fields.ts";
import { z } from "zod";

export const exposeLink = defineOperation({
  name: "expose_link",
  path: "/v1/user/secret/expose_link",
  tag: "Shared secrets",
  summary: "Read a shared secret's current value",
  description: "For a received secret or the caller's own shared one. Requires permission R.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner }),
  response: exposedSecret,
  readsValue: true,
  errors: [
    "secret_not_found",
    "use_unshared_operation",
    "ambiguous_name",
    "out_of_scope",
    "forbidden",
    "secret_expired",
  ],
  audit: { intent: "never", fields: ["key_name", "owner"] },
  example: { request: sample.link, response: sample.exposed },
});

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

export const versionExposeLink = defineOperation({
  name: "version_expose_link",
  path: "/v1/user/secret/version_expose_link",
  tag: "Shared secrets",
  summary: "Read the value of a shared secret's version",
  description: "For a received secret or the caller's own shared one. Requires permission R.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner, key_version: versionNumber }),
  response: exposedSecret,
  readsValue: true,
  errors: [
    "secret_not_found",
    "version_not_found",
    "use_unshared_operation",
    "ambiguous_name",
    "out_of_scope",
    "forbidden",
    "secret_expired",
  ],
  audit: { intent: "never", fields: ["key_name", "key_version", "owner"] },
  example: { request: { ...sample.link, key_version: 2 }, response: sample.exposed },
});

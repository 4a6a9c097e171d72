import { defineOperation } from "../define-operation.ts";
import { exposedSecret } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { owner, secretRequest, versionNumber } from "../schemas/request-fields.ts";

export const versionExposeLink = defineOperation({
  name: "version_expose_link",
  path: "/v1/user/secret/version_expose_link",
  tag: "Shared secrets",
  summary: "Read the value of a shared secret's version",
  description: "For a received secret or the caller's own shared one. Requires permission R.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner, key_version: versionNumber }),
  response: exposedSecret,
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

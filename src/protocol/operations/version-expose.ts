import { defineOperation } from "../define-operation.ts";
import { exposedSecret } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { secretRequest, versionNumber } from "../schemas/request-fields.ts";

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

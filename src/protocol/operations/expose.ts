import { defineOperation } from "../define-operation.ts";
import { exposedSecret } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { secretRequest } from "../schemas/request-fields.ts";

export const expose = defineOperation({
  name: "expose",
  path: "/v1/user/secret/expose",
  tag: "Secrets",
  summary: "Read a secret's current value",
  description: "For the caller's own secrets that are not shared.",
  authentication: "access-token",
  request: secretRequest,
  response: exposedSecret,
  errors: ["secret_not_found", "use_link_operation", "out_of_scope", "secret_expired"],
  audit: { intent: "never", fields: ["key_name"] },
  example: { request: sample.secret, response: sample.exposed },
});

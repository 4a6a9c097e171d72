import { defineOperation } from "../define-operation.ts";
import { exposedSecret } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { owner, secretRequest } from "../schemas/request-fields.ts";

export const exposeLink = defineOperation({
  name: "expose_link",
  path: "/v1/user/secret/expose_link",
  tag: "Shared secrets",
  summary: "Read a shared secret's current value",
  description: "For a received secret or the caller's own shared one. Requires permission R.",
  authentication: "access-token",
  request: (limits) => secretRequest(limits).extend({ owner }),
  response: exposedSecret,
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

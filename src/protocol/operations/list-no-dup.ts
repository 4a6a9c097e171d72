import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { secretRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

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

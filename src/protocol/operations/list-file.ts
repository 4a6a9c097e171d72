import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { fileRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

export const listFile = defineOperation({
  name: "list_file",
  path: "/v1/user/list_file",
  tag: "Files",
  summary: "List files",
  description:
    "Returns each file with its latest version's size and digest and with all versions, by name.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({ files: z.array(fileRecord) }),
  etag: true,
  waits: true,
  compressible: true,
  errors: [],
  audit: { intent: "never", fields: [] },
  example: { request: { email: sample.email }, response: { files: [sample.file] } },
});

import { defineOperation, octetStream } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { fileRequest } from "../schemas/request-fields.ts";

export const downloadFile = defineOperation({
  name: "download_file",
  path: "/v1/user/download_file",
  tag: "Files",
  summary: "Download a file",
  description:
    "Returns the bytes of one version; of the latest when none is named. The etag is the bytes' sha256.",
  authentication: "access-token",
  request: fileRequest,
  response: octetStream,
  etag: true,
  errors: ["file_not_found", "version_not_found"],
  audit: { intent: "never", fields: ["filename", "version"] },
  example: { request: { email: sample.email, filename: sample.upload.filename } },
});

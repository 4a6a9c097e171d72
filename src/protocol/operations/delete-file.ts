import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { fileRequest } from "../schemas/request-fields.ts";

export const deleteFile = defineOperation({
  name: "delete_file",
  path: "/v1/user/delete_file",
  tag: "Files",
  summary: "Delete a file or one version of it",
  description:
    "Without a version, deletes all versions. Deleting the only version deletes the file.",
  authentication: "access-token",
  request: fileRequest,
  response: z.object({
    deleted: z.object({ filename: z.string(), versions: z.array(z.int().min(1)) }),
  }),
  freesSpace: true,
  errors: ["file_not_found", "version_not_found"],
  audit: { intent: "authenticated", fields: ["filename", "version"] },
  example: {
    request: { email: sample.email, filename: sample.upload.filename, version: 1 },
    response: { deleted: { filename: sample.upload.filename, versions: [1] } },
  },
});

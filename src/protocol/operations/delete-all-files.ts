import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { sample } from "../sample-values.ts";
import { callerRequest } from "../schemas/request-fields.ts";

export const deleteAllFiles = defineOperation({
  name: "delete_all_files",
  path: "/v1/user/delete_all_files",
  tag: "Files",
  summary: "Delete all files",
  description: "Deletes every file of the caller with all its versions.",
  authentication: "access-token",
  request: callerRequest,
  response: z.object({
    deleted: z.int().min(0).meta({ description: "Number of files, not versions." }),
  }),
  freesSpace: true,
  errors: [],
  audit: { intent: "authenticated", fields: [] },
  example: { request: { email: sample.email }, response: { deleted: 1 } },
});

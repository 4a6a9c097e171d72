import { z } from "zod";
import { defineOperation } from "../define-operation.ts";
import { uploadedFile } from "../responses.ts";
import { sample } from "../sample-values.ts";

const file = { email: "$request.header.email", filename: "$response.body#/files/0/filename" };

export const protectFile = defineOperation({
  name: "protect_file",
  path: "/v1/user/protect_file",
  tag: "Files",
  summary: "Upload files",
  description:
    "Each file becomes the next version of its filename, the last path segment; names of form fields are ignored. Stores all files " +
    "or none: their number must equal CountOfFiles, and no filename may occur twice.",
  authentication: "access-token",
  request: {
    headers: ({ filesPerRequest }) =>
      z.object({
        email: z.string().min(1).meta({ description: "The caller's own address, in any case." }),
        CountOfFiles: z
          .int()
          .min(1)
          .max(filesPerRequest)
          .meta({ description: "Number of files in the body." }),
      }),
    form: z
      .object({
        file: z.string().meta({
          contentMediaType: "application/octet-stream",
          description: "A file, named by the filename of its part.",
        }),
      })
      .meta({
        description:
          "Each part with a filename is a file, whatever its field is called; other parts are ignored.",
      }),
  },
  response: z.object({ files: z.array(uploadedFile) }),
  addsData: true,
  errors: ["quota_exceeded"],
  audit: { intent: "authenticated", fields: ["filename"] },
  example: { response: { files: [sample.upload] } },
  links: [
    { operation: "download_file", description: "Download the file.", request: file },
    { operation: "delete_file", description: "Delete the file.", request: file },
  ],
});

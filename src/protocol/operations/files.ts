import { z } from "zod";
import { defineOperation, octetStream } from "../define-operation.ts";
import { uploadedFile, fileRecord, trashedRecord } from "../responses.ts";
import { sample } from "../sample-values.ts";
import {
  callerRequest,
  expectedVersion,
  fileRequest,
  permanently,
} from "../schemas/request-fields.ts";

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
        email: z
          .string()
          .min(1)
          .meta({ description: "The caller's own address, in any case; in UTF-8 or Latin-1." }),
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
  readsValue: true,
  errors: ["file_not_found", "version_not_found"],
  audit: { intent: "never", fields: ["filename", "version"] },
  example: { request: { email: sample.email, filename: sample.upload.filename } },
});

export const deleteFile = defineOperation({
  name: "delete_file",
  path: "/v1/user/delete_file",
  tag: "Files",
  summary: "Delete a file or one version of it",
  description:
    "Without a version, deletes all versions. Deleting the only version deletes the file. A server with a trash keeps a deleted " +
    "file there for `trash_restore`, without `version` and `permanently`.",
  authentication: "access-token",
  request: (limits) =>
    fileRequest(limits).extend({ expected_version: expectedVersion, permanently }),
  response: z.object({
    deleted: z.object({ filename: z.string(), versions: z.array(z.int().min(1)) }),
    trash: z.array(trashedRecord).optional(),
  }),
  freesSpace: true,
  errors: ["file_not_found", "version_not_found", "version_changed"],
  audit: { intent: "authenticated", fields: ["filename", "version", "permanently"] },
  example: {
    request: { email: sample.email, filename: sample.upload.filename, version: 1 },
    response: { deleted: { filename: sample.upload.filename, versions: [1] } },
  },
});

export const deleteAllFiles = defineOperation({
  name: "delete_all_files",
  path: "/v1/user/delete_all_files",
  tag: "Files",
  summary: "Delete all files",
  description:
    "Deletes every file of the caller with all its versions. A server with a trash keeps them there.",
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

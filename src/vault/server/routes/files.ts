import type { FastifyInstance, FastifyRequest } from "fastify";
import { operations } from "../../../protocol/operations.ts";
import { authenticate } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { identify, consumerOf } from "../http/identify.ts";
import { progressDeadline } from "../http/deadlines.ts";
import { isKnown } from "../http/etag.ts";
import { headerText } from "../http/header-text.ts";
import { respondWithFiles } from "../files/list-response.ts";
import { headerParameters } from "../files/disposition.ts";
import { openDownload, deleteAllFiles, deleteFile } from "../files/own-files.ts";
import { sendBytes } from "../files/send-bytes.ts";
import { upload } from "../files/upload.ts";
import type { Limits } from "../limits.ts";
import {
  authenticatedOperation,
  compressionOf,
  rejectThrottledNetwork,
  requireMediaType,
} from "./operation.ts";
import { errors } from "../errors.ts";

/** Maximum size of a multipart body in addition to its files. */
const ENVELOPE_BYTES = 2 * 1024 * 1024;

/** Returns the number of files that a header announces; 0 without a valid number. */
function fileCount(header: string | string[] | undefined): number {
  return typeof header === "string" && /^[0-9]{1,9}$/u.test(header) ? Number(header) : 0;
}

/**
 * Returns the headers that replace body fields. @throws ServiceError `invalid_request`, `too_large`
 */
function uploadHeaders(
  { headers }: FastifyRequest,
  limits: Limits,
): { email: string; count: number; boundary: string } {
  if (
    Number(headers["content-length"] ?? 0) >
    limits.filesPerRequest * limits.fileBytes + ENVELOPE_BYTES
  ) {
    throw errors.bodyTooLarge();
  }
  const boundary = headerParameters(headers["content-type"] ?? "").get("boundary") ?? "";
  if (boundary === "" || boundary.length > 70)
    throw errors.invalidRequest("content-type", "needs a boundary of 1 to 70 characters");
  const { email, countoffiles } = headers;
  if (typeof email !== "string" || email === "")
    throw errors.invalidRequest("email", "send it as a header");
  const count = fileCount(countoffiles);
  if (count < 1 || count > limits.filesPerRequest) {
    throw errors.invalidRequest(
      "CountOfFiles",
      `send it as a header, an integer from 1 to ${limits.filesPerRequest}`,
    );
  }
  return { email: headerText(email), count, boundary };
}

/** Adds the operations on files (docs/design/vault-contract.md#files). */
export function fileRoutes(app: FastifyInstance, context: VaultContext): void {
  app.route({
    ...compressionOf(operations.protect_file),
    method: "POST",
    url: operations.protect_file.path,
    config: { operation: operations.protect_file },
    onRequest: [requireMediaType("multipart/form-data"), rejectThrottledNetwork(context)],
    handler: async (request) => {
      const { email, count, boundary } = uploadHeaders(request, context.limits);
      const caller = await authenticate(context, request, email);
      identify(request, caller.email);
      await context.space?.check(Number(request.headers["content-length"] ?? 0));
      const begin = async (filename: string[]): Promise<void> => {
        request.trail?.describeRequest({ filename });
        await request.trail?.begin();
      };
      // After a failure the rest is read and discarded on the open connection: the client can then
      // read the response.
      const source = request.raw.iterator({ destroyOnReturn: false });
      try {
        return { files: await upload(context, caller, { source, boundary, count }, begin) };
      } finally {
        request.raw.resume();
      }
    },
  });

  authenticatedOperation(app, context, operations.list_file, ({ caller, reply }) =>
    respondWithFiles(context, caller, reply),
  );

  authenticatedOperation(
    app,
    context,
    operations.download_file,
    async ({ body, caller, request, reply }) => {
      using _open = context.downloads.enter(caller.email);
      const consumer = consumerOf(request);
      const { fileId, version, size, sha256, content } = await openDownload(
        context,
        caller,
        body.filename,
        body.version,
      );
      if (consumer !== undefined) {
        const read = { consumer, version, account: caller.email };
        context.consumerUses.note({ kind: "file", entryId: fileId, ...read });
      }
      const etag = `"${sha256}"`;
      reply.header("etag", etag).header("x-file-version", String(version));
      if (isKnown(request, etag)) return reply.status(304).send();
      reply.type("application/octet-stream").header("content-length", String(size));
      return await sendBytes(reply, content, {
        deadline: (bytes, close) => progressDeadline(context.clock, context.limits, bytes, close),
        cut: (error) =>
          context.logger.warn(
            { requestId: request.id, operation: "download_file", error },
            "download cut off",
          ),
      });
    },
  );

  authenticatedOperation(app, context, operations.delete_file, async ({ body, caller }) => {
    const { filename, version, expected_version: expectedVersion, permanently } = body;
    const deletion = { name: filename, version, expectedVersion, permanently };
    const { versions, trash } = await deleteFile(context, caller, deletion);
    return { deleted: { filename, versions }, ...(trash && { trash }) };
  });

  authenticatedOperation(app, context, operations.delete_all_files, async ({ caller }) => ({
    deleted: await deleteAllFiles(context, caller),
  }));
}

import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { FastifyReply } from "fastify";
import type { VaultContext } from "../context.ts";
import { acceptedEncoding } from "../http/accepted-encoding.ts";
import { PIECE_LENGTH, readInTime } from "../http/read-in-time.ts";
import type { StreamedList } from "./list-renderings.ts";
import type { SharedList } from "./shared-list.ts";

/** Length from which lists are compressed (docs/design/vault-contract.md#compression). */
const COMPRESSED_LENGTH = 1024;

/** Owner of a list, and its entity tag. */
interface Sent {
  readonly email: string;
  readonly etag: string;
}

/**
 * Sends a list, compressed by gzip when the client accepts it. A list that responses share is
 * compressed once for all of them.
 * @throws ServiceError `rate_limited`
 */
export async function sendOpenedList(
  context: VaultContext,
  reply: FastifyReply,
  list: SharedList | StreamedList,
  { email, etag }: Sent,
): Promise<FastifyReply> {
  const gzips = acceptedEncoding(reply.request.headers, ["gzip"]) !== undefined;
  const head = (): FastifyReply =>
    reply.type("application/json; charset=utf-8").headers({ vary: "accept-encoding", etag });
  if (list.kind === "streamed") {
    head();
    const body = Readable.from(readInTime(context, reply, list.pieces), { highWaterMark: 1 });
    if (!gzips) return reply.send(body);
    // A failure destroys the last stream as well and so closes the connection.
    const compressed = pipeline(body, createGzip(), () => undefined);
    return reply.header("content-encoding", "gzip").send(compressed);
  }
  const compressed =
    gzips && list.length >= COMPRESSED_LENGTH ? await list.compressed() : undefined;
  const pieces = compressed ? [compressed] : list.pieces;
  const length = compressed?.length ?? list.length;
  // Before the headers: a rejection does not have them.
  if (length > PIECE_LENGTH) await context.listResponses.enter(email, reply);
  head();
  if (compressed) reply.header("content-encoding", "gzip");
  if (length <= PIECE_LENGTH) return reply.send(Buffer.concat(pieces));
  reply.header("content-length", String(length));
  return reply.send(Readable.from(readInTime(context, reply, pieces), { highWaterMark: 1 }));
}

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

/** Sends a list, compressed by gzip when the client accepts it. A list that responses share is compressed once for all of them. */
export async function sendOpenedList(
  context: VaultContext,
  reply: FastifyReply,
  list: SharedList | StreamedList,
): Promise<FastifyReply> {
  reply.type("application/json; charset=utf-8").header("vary", "accept-encoding");
  const gzips = acceptedEncoding(reply.request.headers, ["gzip"]) !== undefined;
  if (list.kind === "streamed") {
    const body = Readable.from(readInTime(context, reply, list.pieces), { highWaterMark: 1 });
    if (!gzips) return reply.send(body);
    // A failure destroys the last stream as well, which closes the connection.
    const compressed = pipeline(body, createGzip(), () => undefined);
    return reply.header("content-encoding", "gzip").send(compressed);
  }
  const compressed = gzips && list.length >= COMPRESSED_LENGTH ? await list.compressed() : undefined;
  if (compressed) reply.header("content-encoding", "gzip");
  const pieces = compressed ? [compressed] : list.pieces;
  const length = compressed?.length ?? list.length;
  if (length <= PIECE_LENGTH) return reply.send(Buffer.concat(pieces));
  reply.header("content-length", String(length));
  return reply.send(Readable.from(readInTime(context, reply, pieces), { highWaterMark: 1 }));
}

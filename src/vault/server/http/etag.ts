import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MAX_TAGS } from "../../../protocol/limits.ts";
import { errors } from "../errors.ts";
import type { ReadingDeadline } from "./read-in-time.ts";
import { afterPiece, sendJson, WHOLE_LENGTH } from "./json-stream.ts";

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//u, "");
}

/**
 * Returns the quoted tags in `if-none-match`, weak or not. @throws ServiceError `invalid_request`
 * when there are more than 10
 */
export function knownTags({ headers }: FastifyRequest): string[] {
  const tags = (headers["if-none-match"] ?? "").split(",", MAX_TAGS + 1);
  if (tags.length > MAX_TAGS)
    throw errors.invalidRequest("if-none-match", `at most ${MAX_TAGS} entity tags`);
  return tags.map(opaque);
}

/**
 * Reports whether `if-none-match` has this tag, by weak comparison (RFC 9110, section 13.1.2).
 * @throws ServiceError of `knownTags`
 */
export function isKnown(request: FastifyRequest, etag: string): boolean {
  const tags = knownTags(request);
  return (tags.length === 1 && tags[0] === "*") || tags.includes(opaque(etag));
}

/** Returns the weak tag of a list's content, and the text of a short list. */
async function digestOf(
  pieces: AsyncIterable<string>,
): Promise<{ readonly etag: string; readonly text: string | undefined }> {
  const hash = createHash("sha256");
  let text: string | undefined = "";
  let length = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    length += piece.length;
    text =
      text !== undefined && text.length + piece.length <= WHOLE_LENGTH ? text + piece : undefined;
    await afterPiece(length);
  }
  return { etag: `W/"${hash.digest("base64url")}"`, text };
}

/**
 * Yields the pieces of a list. @throws Error at the end when the content does not match the tag:
 * the client must then not keep the list
 */
async function* unchanged(
  pieces: AsyncIterable<string>,
  etag: string,
): AsyncGenerator<string, void> {
  const hash = createHash("sha256");
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  if (`W/"${hash.digest("base64url")}"` !== etag)
    throw new Error("the list changed while it was sent");
}

/**
 * Sends a list with its etag, or 304 when the client has it. The tag is weak, because the
 * compressed and the plain list share it. A long list takes no memory: it is read twice, first for
 * its tag.
 * @param read yields the same pieces each time, unless the list changes
 */
export async function sendList(
  deadline: ReadingDeadline,
  reply: FastifyReply,
  read: () => AsyncGenerator<string, void>,
): Promise<FastifyReply> {
  const { etag, text } = await digestOf(read());
  reply.header("etag", etag).header("cache-control", "private, no-cache");
  if (isKnown(reply.request, etag)) return reply.status(304).send();
  if (text === undefined) return sendJson(deadline, reply, unchanged(read(), etag));
  return reply.type("application/json; charset=utf-8").send(text);
}

import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { MAX_TAGS } from "../../protocol/entity-tags.ts";
import { errors } from "../errors.ts";

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//u, "");
}

/** Returns the quoted tags in `if-none-match`, weak or not. @throws ServiceError `invalid_request` when there are more than 10 */
export function knownTags({ headers }: FastifyRequest): string[] {
  const tags = (headers["if-none-match"] ?? "").split(",", MAX_TAGS + 1);
  if (tags.length > MAX_TAGS) throw errors.invalidRequest("if-none-match", `at most ${MAX_TAGS} entity tags`);
  return tags.map(opaque);
}

/** Reports whether `if-none-match` has this tag, by weak comparison (RFC 9110, section 13.1.2). @throws ServiceError of `knownTags` */
export function isKnown(request: FastifyRequest, etag: string): boolean {
  const tags = knownTags(request);
  return (tags.length === 1 && tags[0] === "*") || tags.includes(opaque(etag));
}

/**
 * Sends a list with its etag, or 304 when the client has it. The tag is weak, because the compressed and the plain list share it.
 */
export function sendList(request: FastifyRequest, reply: FastifyReply, list: object): FastifyReply {
  const body = JSON.stringify(list);
  const etag = `W/"${createHash("sha256").update(body).digest("base64url")}"`;
  reply.header("etag", etag).header("cache-control", "private, no-cache");
  if (isKnown(request, etag)) return reply.status(304).send();
  return reply.type("application/json; charset=utf-8").send(body);
}

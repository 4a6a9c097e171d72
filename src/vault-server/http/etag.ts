import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";

function opaque(tag: string): string {
  return tag.trim().replace(/^W\//u, "");
}

/** Returns the quoted tags in `if-none-match`, weak or not. */
export function knownTags({ headers }: FastifyRequest): string[] {
  return (headers["if-none-match"] ?? "").split(",").map(opaque);
}

/** Reports whether `if-none-match` has this tag, by weak comparison (RFC 9110, section 13.1.2). */
export function isKnown(request: FastifyRequest, etag: string): boolean {
  const header = request.headers["if-none-match"];
  if (header === undefined) return false;
  return header.trim() === "*" || header.split(",").some((tag) => opaque(tag) === opaque(etag));
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

import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { isKnown } from "../http/etag.ts";
import { pageHeaders } from "./page-headers.ts";

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".json": "application/json; charset=utf-8",
};

/** A document that the server keeps in memory. */
export interface Page {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Weak, because the compressed and the uncompressed form share it. */
  readonly etag: string;
}

/** Returns a page of these bytes; `extension` selects its content type. */
export function pageOf(extension: string, bytes: Buffer): Page {
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url")}"`;
  return { contentType: contentTypes[extension] ?? "application/octet-stream", bytes, etag };
}

/**
 * Serves a page at `path`, to GET and HEAD, and revalidates it by its content. `page` runs on each request, so it may create the
 * page lazily.
 */
export function servePage(app: FastifyInstance, { appUrl }: VaultContext, path: string, page: () => Page): void {
  app.get(path, async (request, reply) => {
    const { contentType, bytes, etag } = page();
    reply.headers(pageHeaders(appUrl())).headers({ etag, "cache-control": "no-cache" });
    if (isKnown(request, etag)) return reply.status(304).send();
    return reply.type(contentType).send(bytes);
  });
}

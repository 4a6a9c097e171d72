import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { acceptedEncoding } from "../http/accepted-encoding.ts";
import { clientNetwork } from "../http/client-network.ts";
import { isKnown } from "../http/etag.ts";
import { pageHeaders } from "./page-headers.ts";

/** Content encodings of pages, the preferred one first. */
const ENCODINGS = ["br", "gzip"] as const;
type Encoding = (typeof ENCODINGS)[number];

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  // RFC 9239.
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".md": "text/markdown; charset=utf-8",
  ".woff2": "font/woff2",
  ".png": "image/png",
  ".ico": "image/x-icon",
};

/** Minimum size of compressed pages. */
const COMPRESSION_THRESHOLD_BYTES = 1024;
/** Level of compression, from 0 to 11; the two highest take ten times as long. The build uses 11. */
const BROTLI_QUALITY = 9;

/** A document that the server keeps in memory. */
export interface Page {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The compressed forms of a page that is not short. */
  readonly encoded: Readonly<Partial<Record<Encoding, Buffer>>>;
  /** Weak, because the compressed and the uncompressed form share it. */
  readonly etag: string;
}

/**
 * Returns a page of these bytes, compressed once for all requests; `extension` selects its content
 * type.
 * @param brotli the compressed bytes, if there are any
 */
export function pageOf(extension: string, bytes: Buffer, brotli?: Buffer): Page {
  const etag = `W/"${createHash("sha256").update(bytes).digest("base64url")}"`;
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY };
  const encoded =
    bytes.length < COMPRESSION_THRESHOLD_BYTES
      ? {}
      : { br: brotli ?? brotliCompressSync(bytes, { params }), gzip: gzipSync(bytes) };
  return {
    contentType: contentTypes[extension] ?? "application/octet-stream",
    bytes,
    encoded,
    etag,
  };
}

/**
 * Serves a page at `path`, to GET and HEAD, and revalidates it by its content; delayed to a network
 * that requests many. `page` runs on each request, so it may create the page lazily. `cacheControl`
 * makes browsers ask again each time by default.
 */
export function servePage(
  app: FastifyInstance,
  { appUrl, pages }: VaultContext,
  path: string,
  page: () => Page,
  cacheControl = "no-cache",
): void {
  app.get(path, { compress: false }, async (request, reply) => {
    if (await pages.delay(clientNetwork(request.ip), request.raw.socket))
      reply.header("connection", "close");
    const { contentType, bytes, encoded, etag } = page();
    reply
      .headers(pageHeaders(appUrl()))
      .headers({ etag, "cache-control": cacheControl, vary: "accept-encoding" });
    if (isKnown(request, etag)) return reply.status(304).send();
    const encoding = acceptedEncoding(request.headers, ENCODINGS);
    const compressed = encoding && encoded[encoding];
    if (compressed) reply.header("content-encoding", encoding);
    return reply.type(contentType).send(compressed ?? bytes);
  });
}

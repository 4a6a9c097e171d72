import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { acceptedEncoding } from "../http/accepted-encoding.ts";
import { clientNetwork } from "../http/client-network.ts";
import { isKnown } from "../http/etag.ts";
import { isHttps } from "../accounts/cookies.ts";

/**
 * Allows the application's own files and operations only, nothing inline
 * (docs/design/security.md#web-session).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  // No script of the application turns text into HTML, code or a script's URL; a dependency that
  // does fails.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const UNUSED_FEATURES = [
  "camera",
  "display-capture",
  "geolocation",
  "microphone",
  "payment",
  "usb",
];

/**
 * Returns the headers that isolate a page of the web application. The clipboard is allowed, for
 * copying tokens and values.
 */
export function pageHeaders(appUrl: string): Record<string, string> {
  return {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": UNUSED_FEATURES.map((feature) => `${feature}=()`).join(", "),
    ...(isHttps(appUrl) && { "strict-transport-security": "max-age=31536000" }),
  };
}

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

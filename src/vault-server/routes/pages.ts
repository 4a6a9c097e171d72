import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { isKnown } from "../etag.ts";
import { pageHeaders } from "../web-app/page-headers.ts";
import type { Page } from "../web-app/pages.ts";

const NOT_BUILT = "The web application is not built: run `npm run build:web`, then start the server again.\n";

/** The web application's files, GET and HEAD; without them `/` says how to make them. */
export function pageRoutes(app: FastifyInstance, { appUrl }: VaultContext, pages: readonly Page[]): void {
  for (const { path, contentType, bytes, etag, immutable } of pages) {
    app.get(path, async (request, reply) => {
      reply.headers(pageHeaders(appUrl())).header("etag", etag);
      reply.header("cache-control", immutable ? "public, max-age=31536000, immutable" : "no-cache");
      if (isKnown(request, etag)) return reply.status(304).send();
      return reply.type(contentType).send(bytes);
    });
  }
  if (pages.length > 0) return;
  app.get("/", async (_request, reply) =>
    reply.status(503).headers(pageHeaders(appUrl())).type("text/plain; charset=utf-8").send(NOT_BUILT),
  );
}

import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";
import { isKnown } from "../http/etag.ts";
import { pageHeaders } from "../web-app/page-headers.ts";
import type { Page } from "../web-app/static-files.ts";

const NOT_BUILT = "The web application is not built: run `npm run build:web`, then start the server again.\n";

/** Serves what `page` answers, GET and HEAD; its path is known before, so that it need not be made before somebody asks. */
export function servePage(app: FastifyInstance, { appUrl }: VaultContext, path: string, page: () => Page): void {
  app.get(path, async (request, reply) => {
    const { contentType, bytes, etag, immutable } = page();
    reply.headers(pageHeaders(appUrl())).header("etag", etag);
    reply.header("cache-control", immutable ? "public, max-age=31536000, immutable" : "no-cache");
    if (isKnown(request, etag)) return reply.status(304).send();
    return reply.type(contentType).send(bytes);
  });
}

/** The web application's files, GET and HEAD; without them `/` says how to make them. */
export function pageRoutes(app: FastifyInstance, context: VaultContext, pages: readonly Page[]): void {
  for (const page of pages) servePage(app, context, page.path, () => page);
  if (pages.length > 0) return;
  app.get("/", async (_request, reply) =>
    reply.status(503).headers(pageHeaders(context.appUrl())).type("text/plain; charset=utf-8").send(NOT_BUILT),
  );
}

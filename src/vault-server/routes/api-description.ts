import type { FastifyInstance } from "fastify";
import { openApiDocument, type OpenApiDocument } from "../../protocol/openapi/document.ts";
import { apiPage } from "../api-page/api-page.ts";
import { stylesheet } from "../api-page/stylesheet.ts";
import type { VaultContext } from "../context.ts";
import { packageVersion } from "../package-version.ts";
import { pageOf, servePage, type Page } from "../web-app/page.ts";

/** The path's page, made when somebody first asks for it, then kept. */
function made(make: () => Page): () => Page {
  let page: Page | undefined;
  return () => (page ??= make());
}

/** How to use this server, for programs and for people. GET, without a token. Source: issue 4. */
export function apiDescriptionRoutes(app: FastifyInstance, context: VaultContext): void {
  const [json, page, style] = ["/v1/openapi.json", "/api", "/api.css"];
  const document = (): OpenApiDocument => openApiDocument(packageVersion(), context.limits);
  const pages: Readonly<Record<string, () => Page>> = {
    [json]: () => pageOf(".json", Buffer.from(JSON.stringify(document()))),
    [page]: () => pageOf(".html", Buffer.from(apiPage(document(), style))),
    [style]: () => pageOf(".css", Buffer.from(stylesheet)),
  };
  for (const [path, make] of Object.entries(pages)) servePage(app, context, path, made(make));
}

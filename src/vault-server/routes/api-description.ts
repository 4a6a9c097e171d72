import type { FastifyInstance } from "fastify";
import { openApiDocument } from "../../protocol/openapi/document.ts";
import type { VaultContext } from "../context.ts";
import { packageVersion } from "../package-version.ts";
import { pageOf, type Page } from "../web-app/pages.ts";
import { servePage } from "./pages.ts";

/** The path's page, made when somebody first asks for it, then kept. */
function made(make: () => Page): () => Page {
  let page: Page | undefined;
  return () => (page ??= make());
}

/** How to use this server, for programs and for people. GET, without a token. Source: issue 4. */
export function apiDescriptionRoutes(app: FastifyInstance, context: VaultContext): void {
  const json = "/v1/openapi.json";
  const document = made(() =>
    pageOf(json, ".json", Buffer.from(JSON.stringify(openApiDocument(packageVersion(), context.limits)))),
  );
  servePage(app, context, json, document);
}

import type { FastifyInstance } from "fastify";
import { openApiDocument } from "../../../protocol/openapi/document.ts";
import type { VaultContext } from "../context.ts";
import { packageVersion } from "../../../lib/package-version.ts";
import { pageOf, servePage, type Page } from "../web-app/page.ts";

const DOCUMENT_PATH = "/v1/openapi.json";

/**
 * Serves the OpenAPI document with this server's limits, assembled on first request; `/api`
 * redirects to it. Needs no token.
 */
export function apiDescriptionRoutes(app: FastifyInstance, context: VaultContext): void {
  let page: Page | undefined;
  const createPage = (): Page =>
    pageOf(".json", Buffer.from(JSON.stringify(openApiDocument(packageVersion(), context.limits))));
  servePage(app, context, DOCUMENT_PATH, () => (page ??= createPage()));
  app.get("/api", async (_request, reply) => reply.redirect(DOCUMENT_PATH));
}

/** Adds liveness and readiness for the platform. They need no token. */
export function healthRoutes(app: FastifyInstance, { store, audit }: VaultContext): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async () => {
    await audit?.check();
    await store.read(({ settings }) => settings.get("master_key"));
    return { status: "ok" };
  });
}

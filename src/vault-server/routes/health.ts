import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";

/** What a platform asks: alive, able to serve, and how it does. GET, without a token. */
export function healthRoutes(app: FastifyInstance, { store, metrics, audit }: VaultContext): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async () => {
    await audit?.check();
    await store.read(({ settings }) => settings.get("master_key"));
    return { status: "ok" };
  });
  app.get("/metrics", async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.text()));
}

import type { FastifyInstance } from "fastify";
import type { VaultContext } from "../context.ts";

/** Adds liveness and readiness for the platform. They need no token. */
export function healthRoutes(app: FastifyInstance, { store, audit }: VaultContext): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async () => {
    await audit?.check();
    await store.read(({ settings }) => settings.get("master_key"));
    return { status: "ok" };
  });
}

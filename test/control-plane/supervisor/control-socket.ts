import { once } from "node:events";
import { createServer } from "node:http";
import type { Cluster } from "./cluster.ts";

/**
 * Lets other processes stop and start the API server: `POST /apiserver/stop|start|restart` over HTTP on a Unix socket. Responds
 * with 204 when the action is complete (for the last two: ready again), or with 500 and the reason. Actions run one at a time.
 */
export async function openControlSocket(path: string, cluster: Cluster): Promise<void> {
  let last: Promise<void> = Promise.resolve();
  const actions: Record<string, () => Promise<void>> = {
    "/apiserver/stop": () => cluster.stopApiServer(),
    "/apiserver/start": () => cluster.startApiServer(),
    "/apiserver/restart": async () => {
      await cluster.stopApiServer();
      await cluster.startApiServer();
    },
  };
  const server = createServer({ keepAliveTimeout: 1 }, (request, response) => {
    const action = request.method === "POST" ? actions[request.url ?? ""] : undefined;
    request.resume();
    if (action === undefined) {
      response.writeHead(404).end();
      return;
    }
    last = last.then(action).then(
      () => void response.writeHead(204).end(),
      (error: unknown) => void response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    );
  });
  server.listen(path);
  await once(server, "listening");
}

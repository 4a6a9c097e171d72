import { once } from "node:events";
import { createServer } from "node:http";
import type { Cluster } from "./cluster.ts";

/**
 * Lets other processes stop and start the API server: `POST /apiserver/stop|start|restart` over
 * HTTP on a Unix socket, and a second one: `POST /second-apiserver/stop|start`. Responds with 200
 * when the action is complete (a start: ready) and, for the second one, its URL, or with 500 and
 * the reason. Actions run one at a time.
 */
export async function openControlSocket(path: string, cluster: Cluster): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  const actions: Record<string, () => Promise<string | void>> = {
    "/apiserver/stop": () => cluster.stopApiServer(),
    "/apiserver/start": () => cluster.startApiServer(),
    "/apiserver/restart": async () => {
      await cluster.stopApiServer();
      await cluster.startApiServer();
    },
    "/second-apiserver/stop": () => cluster.stopSecondApiServer(),
    "/second-apiserver/start": () => cluster.startSecondApiServer(),
  };
  const server = createServer({ keepAliveTimeout: 1 }, (request, response) => {
    const action = request.method === "POST" ? actions[request.url ?? ""] : undefined;
    request.resume();
    if (action === undefined) {
      response.writeHead(404).end();
      return;
    }
    last = last.then(action).then(
      (url) => void response.writeHead(200).end(url ?? ""),
      (error: unknown) =>
        void response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    );
  });
  server.listen(path);
  await once(server, "listening");
}

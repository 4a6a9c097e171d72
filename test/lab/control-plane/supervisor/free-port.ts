import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Returns a free loopback port below the range of ephemeral ports: no outgoing connection takes it
 * while the API server is stopped. Another process may still take it: the caller has to retry.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 32_000);
    if (await canListen(port)) return port;
  }
  throw new Error("no free loopback port between 20000 and 32000");
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A loopback port that nothing listens on now. It lies below the range from which systems take the ports of outgoing connections,
 * so that none of those can take it while the API server is down. Another process still may: the caller tries again.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 32_000);
    if (await canListen(port)) return port;
  }
  throw new Error("No free loopback port between 20000 and 32000.");
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * A TCP relay on loopback in front of an API server that counts connections and can reset them. It
 * does not terminate TLS.
 */
export interface ConnectionProxy extends AsyncDisposable {
  /** URL to use instead of the API server's; the server's certificate is valid for it. */
  readonly server: string;
  /** Number of connections accepted since the start. */
  readonly accepted: number;
  /** Number of open connections. */
  readonly open: number;
  /** Resets every open connection and returns their number; new ones are accepted. */
  dropAll(): number;
  /** While true, new connections are reset immediately. */
  refuse(refusing: boolean): void;
}

export async function startConnectionProxy(target: string): Promise<ConnectionProxy> {
  const { hostname, port } = new URL(target);
  const clients = new Map<Socket, Socket>();
  let accepted = 0;
  let refusing = false;

  const listener = createServer({ noDelay: true }, (client) => {
    client.on("error", () => {});
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    accepted++;
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    clients.set(client, upstream);
    client.once("close", () => {
      clients.delete(client);
      upstream.destroy();
    });
    upstream.on("error", () => client.resetAndDestroy());
    upstream.once("close", () => client.destroySoon());
    client.pipe(upstream).pipe(client);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");

  const dropAll = (): number => {
    const count = clients.size;
    for (const client of clients.keys()) client.resetAndDestroy();
    return count;
  };
  return {
    server: `https://127.0.0.1:${address.port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return clients.size;
    },
    dropAll,
    refuse(value) {
      refusing = value;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(listener, "close");
      listener.close();
      dropAll();
      await closed;
    },
  };
}

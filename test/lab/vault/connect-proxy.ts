import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxyOptions {
  /** Port on this machine that each tunnel leads to; the requested one by default. */
  readonly port?: number;
  /** Status of the responses; with another one than 200, there are no tunnels. */
  readonly status?: number;
}

/** An HTTP proxy on this machine that opens tunnels to this machine, whatever the host. */
export class ConnectProxy implements Disposable {
  /** The requests: the method, the target, and the names of the headers. */
  readonly seen: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor({ port, status = 200 }: ConnectProxyOptions) {
    this.#server = createServer((request) => void this.seen.push(describeRequest(request)));
    this.#server.on("connection", (socket) => this.#sockets.add(socket));
    this.#server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
      this.seen.push(describeRequest(request));
      if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      const requested = Number(request.url?.split(":").at(-1));
      const upstream = connect(port ?? requested, "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        upstream.write(head);
        upstream.pipe(client).pipe(upstream);
      });
      endTogether(client, upstream);
      endTogether(upstream, client);
    });
  }

  static async start(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

const describeRequest = ({ method, url, headers }: IncomingMessage): string =>
  `${method} ${url} ${Object.keys(headers).sort().join(" ")}`;

function endTogether(one: Socket, other: Socket): void {
  one.on("error", () => undefined).on("close", () => other.destroy());
}

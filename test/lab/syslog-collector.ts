import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/**
 * Returns the messages of a stream in which each starts with its length (RFC 6587), and the rest.
 */
function framed(bytes: Buffer): { readonly messages: string[]; readonly rest: Buffer } {
  const messages: string[] = [];
  let rest = bytes;
  for (;;) {
    const space = rest.indexOf(" ");
    const length = Number(rest.subarray(0, Math.max(0, space)).toString("latin1"));
    if (space < 0 || rest.length < space + 1 + length) return { messages, rest };
    messages.push(rest.subarray(space + 1, space + 1 + length).toString("utf8"));
    rest = rest.subarray(space + 1 + length);
  }
}

/** A syslog server on a loopback address that keeps what it receives. */
export class SyslogCollector implements AsyncDisposable {
  readonly messages: string[] = [];
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async tcp({ port = 0, reads = true } = {}): Promise<SyslogCollector> {
    return SyslogCollector.#listen(createServer(), "connection", port, reads);
  }

  static async tls(certificate: {
    readonly cert: string;
    readonly key: string;
  }): Promise<SyslogCollector> {
    return SyslogCollector.#listen(createTlsServer(certificate), "secureConnection", 0, true);
  }

  static async #listen(
    server: Server,
    event: string,
    port: number,
    reads: boolean,
  ): Promise<SyslogCollector> {
    const collector = new SyslogCollector(server);
    server.on("connection", (socket: Socket) => {
      collector.connections += 1;
      collector.#sockets.add(socket.on("error", () => undefined));
    });
    server.on("tlsClientError", () => undefined);
    server.on(event, (socket: Socket) => {
      let left = Buffer.alloc(0);
      socket.on("error", () => undefined);
      if (!reads) socket.pause();
      else
        socket.on("data", (bytes: Buffer) => {
          const { messages, rest } = framed(Buffer.concat([left, bytes]));
          collector.messages.push(...messages);
          left = Buffer.from(rest);
        });
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return collector;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address ? (address satisfies AddressInfo).port : 0;
  }

  /** Lines of the audit log in the messages, without the header. */
  get lines(): string[] {
    return this.messages.map((message) => message.slice(message.indexOf("{")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Receives datagrams; disposing it closes the socket. */
export async function udpCollector(): Promise<
  { readonly port: number; readonly messages: string[] } & Disposable
> {
  const socket = createSocket("udp4");
  const messages: string[] = [];
  socket.on("message", (bytes) => messages.push(bytes.toString("utf8")));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, messages, [Symbol.dispose]: () => void socket.close() };
}

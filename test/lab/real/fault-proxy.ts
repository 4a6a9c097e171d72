import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import {
  createServer as createTlsServer,
  request as httpsRequest,
  type Server as TlsServer,
} from "node:https";
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import type { SecureContextOptions, TlsOptions } from "node:tls";

/** A request as received from the operator. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Time of arrival in milliseconds, monotonic. */
  readonly at: number;
  /** Port of the client. It identifies the connection. */
  readonly remotePort: number;
}

/** A request at the proxy, with everything that a fault can do to it. */
export interface Exchange {
  readonly request: ProxiedRequest;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /**
   * Sends the request to the server behind the proxy and resolves with its response, whose body is
   * not read yet.
   */
  readonly forward: () => Promise<IncomingMessage>;
  /** Forwards the request and passes the response on, as without a fault. */
  readonly relay: () => Promise<void>;
  /** Resets the connection, below TLS. */
  readonly reset: () => void;
}

/** Handles a request instead of relaying it. An error resets the connection. */
export type Fault = (exchange: Exchange) => unknown;

export interface Upstream {
  readonly url: string;
  /** PEM of the authority of an https server. */
  readonly ca?: string;
}

interface ListenOptions {
  /** With these, the proxy serves https. */
  readonly tls?: TlsOptions | undefined;
  /** Address to listen on. */
  readonly host?: string;
  readonly port?: number;
}

/**
 * An HTTP or HTTPS server on loopback that relays every request to another server, except while a
 * fault is injected.
 */
export class FaultProxy implements AsyncDisposable {
  /** Every request received, in order. */
  readonly requests: ProxiedRequest[] = [];
  #upstream: Upstream;
  readonly #tls: boolean;
  readonly #host: string;
  readonly #server: Server | TlsServer;
  readonly #sockets = new Set<Socket>();
  /** Remote ports of connections that end with their next response. */
  readonly #lastResponse = new Set<number>();
  #fault: Fault | undefined;
  #onConnect: ((socket: Socket) => unknown) | undefined;
  #port: number;

  private constructor(upstream: Upstream, { tls, host = "127.0.0.1", port = 0 }: ListenOptions) {
    this.#upstream = upstream;
    this.#tls = tls !== undefined;
    this.#host = host;
    this.#port = port;
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#serve(request, response);
    this.#server = tls ? createTlsServer(tls, listener) : createServer(listener);
    this.#server.on("tlsClientError", () => undefined);
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("close", () => this.#sockets.delete(socket));
      this.#onConnect?.(socket);
    });
  }

  static async start(upstream: Upstream, options: ListenOptions = {}): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream, options);
    await proxy.listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `${this.#tls ? "https" : "http"}://${this.#host}:${this.#port}`;
  }

  /** Returns the requests whose path, without its query, is `path`. */
  to(path: string): ProxiedRequest[] {
    return this.requests.filter((request) => request.path.split("?")[0] === path);
  }

  /**
   * Resets all connections, to end requests in flight too, and applies the fault to every later
   * request.
   */
  inject(fault: Fault): void {
    this.#fault = fault;
    this.reset();
  }

  /**
   * Calls `onConnect` with every later connection, before any byte is read; existing ones are
   * reset.
   */
  injectOnConnect(onConnect: (socket: Socket) => unknown): void {
    this.#onConnect = onConnect;
    this.reset();
  }

  /** Ends all faults. Connections with a fault are reset. */
  async heal(): Promise<void> {
    this.#fault = undefined;
    this.#onConnect = undefined;
    this.reset();
    if (!this.#server.listening) await this.listen();
  }

  /** Resets all connections and relays every later request to another server. */
  useUpstream(upstream: Upstream): void {
    this.#upstream = upstream;
    this.reset();
  }

  /** Resets all connections and returns their number. */
  reset(): number {
    const count = this.#sockets.size;
    for (const socket of this.#sockets) socket.resetAndDestroy();
    return count;
  }

  /** Stops listening: connections are refused until `heal`. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.reset();
    await closed;
  }

  /** Serves another certificate to new connections, and resets the existing ones. */
  useCertificate(context: SecureContextOptions): void {
    this.renewCertificate(context);
    this.#lastResponse.clear();
    this.reset();
  }

  /**
   * Serves another certificate to new connections, and closes each existing one with its next
   * response, as a server that reloads.
   */
  renewCertificate(context: SecureContextOptions): void {
    if (!("setSecureContext" in this.#server)) throw new Error("the proxy serves no TLS");
    this.#server.setSecureContext(context);
    for (const socket of this.#sockets)
      if (socket.remotePort !== undefined) this.#lastResponse.add(socket.remotePort);
  }

  async listen(): Promise<void> {
    this.#server.listen(this.#port, this.#host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    this.#port = address.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const { remotePort = 0 } = incoming.socket;
    if (this.#lastResponse.delete(remotePort)) response.shouldKeepAlive = false;
    const reset = (): void => {
      [...this.#sockets].find((socket) => socket.remotePort === remotePort)?.resetAndDestroy();
    };
    try {
      const body = await buffer(incoming);
      const { method = "", url: path = "", headers, socket } = incoming;
      const request: ProxiedRequest = {
        method,
        path,
        headers,
        body,
        at: performance.now(),
        remotePort,
      };
      this.requests.push(request);
      const forward = (): Promise<IncomingMessage> => forwardTo(this.#upstream, request, response);
      const relay = async (): Promise<void> => relayResponse(await forward(), response);
      const fault = this.#fault ?? (({ relay: unchanged }: Exchange) => unchanged());
      await fault({ request, response, socket, forward, relay, reset });
    } catch {
      reset();
    }
  }
}

function forwardTo(
  upstream: Upstream,
  request: ProxiedRequest,
  response: ServerResponse,
): Promise<IncomingMessage> {
  const url = new URL(request.path, upstream.url);
  const { method, body } = request;
  const headers = { ...request.headers, host: url.host };
  return new Promise((resolve, reject) => {
    const options = { method, headers, agent: false as const };
    const sent =
      url.protocol === "https:"
        ? httpsRequest(url, { ...options, ca: upstream.ca }, resolve)
        : httpRequest(url, options, resolve);
    sent.on("error", reject);
    // The client of a watch ends it by closing its connection.
    response.once("close", () => sent.destroy());
    sent.end(body);
  });
}

function relayResponse(from: IncomingMessage, to: ServerResponse): Promise<void> {
  to.writeHead(
    from.statusCode ?? 502,
    to.shouldKeepAlive ? from.headers : { ...from.headers, connection: "close" },
  );
  to.flushHeaders();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  from.once("error", reject).once("end", resolve).pipe(to);
  to.once("close", resolve);
  return promise;
}

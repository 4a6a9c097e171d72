import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { Socket } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export type RequestHandler = (
  request: SeenRequest,
  response: ServerResponse,
  socket: Socket,
) => void | Promise<void>;

/**
 * A real HTTP(S) server on a free loopback port whose responses a test defines, including resets,
 * truncated lines and silence.
 */
export class LoopbackServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  /** Number of connections that were opened. */
  connections = 0;
  handler: RequestHandler;
  readonly #server;
  readonly #scheme: "http" | "https";

  private constructor(handler: RequestHandler, tls: ServerOptions | undefined) {
    this.handler = handler;
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#serve(request, response);
    this.#scheme = tls === undefined ? "http" : "https";
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on("connection", () => (this.connections += 1));
    this.#server.on("tlsClientError", () => undefined);
  }

  static async start(handler: RequestHandler, tls?: ServerOptions): Promise<LoopbackServer> {
    const server = new LoopbackServer(handler, tls);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): URL {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return new URL(`${this.#scheme}://127.0.0.1:${address.port}`);
  }

  /** Cuts every connection. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const seen = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body,
    };
    this.requests.push(seen);
    await this.handler(seen, response, request.socket);
  }
}

/** Responds with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
}

/** Returns a `metav1.Status` of a failure. */
export function failureStatus(
  code: number,
  reason: string,
  details: object = {},
  message = "",
): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    details,
    code,
  };
}

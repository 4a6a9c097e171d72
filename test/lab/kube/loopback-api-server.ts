import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Access, AccessSource } from "../../../src/operator/kube/credentials/credentials.ts";
import { Redacted } from "../../../src/lib/redacted.ts";

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
 * A real HTTP server on loopback whose responses a test defines, including resets, truncated lines
 * and silence. The behavior of a real API server is tested in test/integration/kube.
 */
export class LoopbackApiServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  /** Number of connections that were opened. */
  connections = 0;
  handler: RequestHandler;
  readonly #server;

  private constructor(handler: RequestHandler) {
    this.handler = handler;
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.on("connection", () => (this.connections += 1));
  }

  static async start(handler: RequestHandler): Promise<LoopbackApiServer> {
    const server = new LoopbackApiServer(handler);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): URL {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return new URL(`http://127.0.0.1:${address.port}`);
  }

  /** Returns the access to this server; `token` is called on each load. */
  source(token: (fresh: boolean) => string = () => "token"): AccessSource {
    return {
      server: this.url,
      namespace: undefined,
      async load(fresh): Promise<Access> {
        return {
          headers: new Redacted({ authorization: `Bearer ${token(fresh)}` }),
          tls: new Redacted({}),
        };
      },
    };
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

import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";

/** A request as received; `body` is its parsed JSON. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export type Script = (response: ServerResponse, request: ReceivedRequest) => void;

/** Responds with a JSON body. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Script {
  return (response) =>
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
}

/** Responds with exactly these bytes. */
export function raw(
  body: string | Uint8Array,
  status = 200,
  headers: Record<string, string> = {},
): Script {
  return (response) => response.writeHead(status, headers).end(body);
}

/** Responds with an error in the form of the vault contract. */
export function errorResponse(
  status: number,
  code: string,
  headers: Record<string, string> = {},
): Script {
  return json({ error: { code, message: "canary-server-text" } }, status, headers);
}

/** Resets the connection without a response. */
export const reset: Script = (response) => void response.socket?.resetAndDestroy();
/** Never responds. */
export const silence: Script = () => undefined;

/**
 * A real HTTP(S) server on a free loopback port with scripted responses. After `on(path, a, b, c)`
 * it responds with a, then b, then always c. A path without a script returns 404 in the form of the
 * contract.
 */
export class ScriptedServer implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Server;
  readonly #scripts = new Map<string, Script[]>();
  readonly #tls: boolean;
  sockets = 0;

  private constructor(tls: ServerOptions | undefined) {
    const listener: RequestListener = (request, response) => void this.#respond(request, response);
    this.#tls = tls !== undefined;
    this.#server = tls ? createTlsServer(tls, listener) : createServer(listener);
    this.#server.on("connection", () => (this.sockets += 1));
    this.#server.on("tlsClientError", () => undefined);
  }

  static async start(tls?: ServerOptions): Promise<ScriptedServer> {
    const server = new ScriptedServer(tls);
    await once(server.#server.listen(0, "127.0.0.1"), "listening");
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("not listening");
    return address.port;
  }

  get url(): string {
    return `${this.#tls ? "https" : "http"}://127.0.0.1:${this.port}`;
  }

  on(path: string, ...scripts: Script[]): this {
    this.#scripts.set(path, scripts);
    return this;
  }

  /** Returns the requests to one path. */
  to(path: string): ReceivedRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const received: ReceivedRequest = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || "{}"),
    };
    this.requests.push(received);
    const scripts = this.#scripts.get(received.path) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    (script ?? errorResponse(404, "not_found"))(response, received);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

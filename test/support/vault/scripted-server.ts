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

/** One request as it arrived; `body` is its JSON. */
export interface ScriptedCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export type Script = (response: ServerResponse, call: ScriptedCall) => void;

/** An answer with a JSON body. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Script {
  return (response) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** An answer with these bytes, whatever they are. */
export function raw(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): Script {
  return (response) => response.writeHead(status, headers).end(body);
}

/** An error answer of the vault contract's form. */
export function refuse(status: number, code: string, headers: Record<string, string> = {}): Script {
  return json({ error: { code, message: "canary-server-text" } }, status, headers);
}

/** The connection breaks before any answer. */
export const reset: Script = (response) => void response.socket?.resetAndDestroy();
/** Never answers. */
export const silence: Script = () => undefined;

/**
 * A real HTTP(S) server on a free loopback port whose answers a test writes. `on(path, a, b, c)` answers a, then b, then c for ever;
 * a path without a script is 404 in the contract's form.
 */
export class ScriptedServer implements AsyncDisposable {
  readonly calls: ScriptedCall[] = [];
  readonly #server: Server;
  readonly #scripts = new Map<string, Script[]>();
  readonly #tls: boolean;
  sockets = 0;

  private constructor(tls: ServerOptions | undefined) {
    const listener: RequestListener = (request, response) => void this.#answer(request, response);
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

  /** The calls of one path. */
  to(path: string): ScriptedCall[] {
    return this.calls.filter((call) => call.path === path);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const call: ScriptedCall = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || "{}"),
    };
    this.calls.push(call);
    const scripts = this.#scripts.get(call.path) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    (script ?? refuse(404, "not_found"))(response, call);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

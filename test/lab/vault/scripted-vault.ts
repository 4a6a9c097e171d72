import { expect, onTestFinished } from "vitest";
import { CONSUMER } from "./secret-record.ts";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import {
  observeConnection,
  untilHealthy,
  type ObservedConnection,
  type ObserveOptions,
} from "./vault-connection.ts";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import { LoopbackServer, type SeenRequest } from "../loopback-server.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { UndiciTransport } from "../../../src/operator/vault-client/http/undici-transport.ts";
import type { VaultTransport } from "../../../src/operator/vault-client/http/vault-transport.ts";

/** A request as received; `body` is its parsed JSON. */
interface ReceivedRequest {
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
  readonly #server: LoopbackServer;
  readonly #scripts = new Map<string, Script[]>();

  private constructor(server: LoopbackServer) {
    this.#server = server;
    server.handler = (request, response) => this.#respond(request, response);
  }

  static async start(tls?: ServerOptions): Promise<ScriptedServer> {
    return new ScriptedServer(await LoopbackServer.start(() => undefined, tls));
  }

  get sockets(): number {
    return this.#server.connections;
  }

  get port(): number {
    return Number(this.#server.url.port);
  }

  get url(): string {
    return this.#server.url.origin;
  }

  on(path: string, ...scripts: Script[]): this {
    this.#scripts.set(path, scripts);
    return this;
  }

  /** Returns the requests to one path. */
  to(path: string): ReceivedRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  #respond({ path, headers, body }: SeenRequest, response: ServerResponse): void {
    const received: ReceivedRequest = { path, headers, body: JSON.parse(body || "{}") };
    this.requests.push(received);
    const scripts = this.#scripts.get(path) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    (script ?? errorResponse(404, "not_found"))(response, received);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}

export const tokenResponse = (name: string): Script =>
  json({
    access_token: name,
    refresh_token: `${name}-refresh`,
    expires_in: 86_400,
    scope: "granted",
  });
export const listedSecret = (name: string, key_version = 1, more: object = {}): object => ({
  key_name: name,
  key_version,
  ...more,
});
export const listResponse = (...secrets: object[]): Script => json({ secrets });
export const valueResponse = (key_value: string, more: object = {}): Script =>
  json({ key_value, ...more });

/** A scripted vault. By default it issues the tokens T1 and T2 and returns empty lists. */
export class ScriptedVault {
  readonly server: ScriptedServer;

  private constructor(server: ScriptedServer) {
    this.server = server;
    this.on("generate_access_token", tokenResponse("T1"))
      .on("refresh_token", tokenResponse("T2"))
      .on("list_no_dup", listResponse())
      .on("list_file", json({ files: [] }));
  }

  /** Starts a vault that stops at the end of the test. */
  static async start(): Promise<ScriptedVault> {
    const server = await ScriptedServer.start();
    onTestFinished(() => server[Symbol.asyncDispose]());
    return new ScriptedVault(server);
  }

  on(operation: Operation, ...scripts: Script[]): this {
    this.server.on(operationPath[operation], ...scripts);
    return this;
  }

  count(operation: Operation): number {
    return this.server.to(operationPath[operation]).length;
  }

  bodies(operation: Operation): unknown[] {
    return this.server.to(operationPath[operation]).map(({ body }) => body);
  }

  connect(options: Omit<ObserveOptions, "url"> = {}): ObservedConnection {
    return observeConnection({ url: this.server.url, ...options });
  }

  /** Connects and waits for the first list. */
  connected(options: Omit<ObserveOptions, "url"> = {}): Promise<ObservedConnection> {
    return untilHealthy(this.connect(options));
  }
}

/** Returns the first listed record of this name. */
export function recordOf({ connection }: ObservedConnection, name: string): SecretRecord {
  const [record] = connection.snapshot?.secrets(name) ?? [];
  if (!record) throw new Error(`${name} is not listed`);
  return record;
}

/** Reads a value as text, with the version of the response. */
export async function textOf(
  observed: ObservedConnection,
  name: string,
  version?: number,
): Promise<[string, number]> {
  const record = recordOf(observed, name);
  const { signal } = new AbortController();
  const read = await observed.connection.reader(record, CONSUMER)(
    version ?? record.version,
    signal,
  );
  return [Buffer.from(read.bytes.reveal()).toString(), read.version];
}

/**
 * Waits until so many requests of an operation have ended: then none of them has a deadline on the
 * clock.
 */
export async function requestsEnded(
  { requests }: ObservedConnection,
  operation: Operation,
  count: number,
): Promise<void> {
  await expect
    .poll(() => requests.filter((request) => request.startsWith(`${operation} `)).length)
    .toBe(count);
}

/** Lists as soon as allowed, and waits for that list. */
export async function listSoon(observed: ObservedConnection): Promise<void> {
  observed.connection.pollSoon();
  await nextList(observed, 1_000);
}

/** Advances the clock by `ms` and waits for the list that follows. */
export async function nextList({ clock, requests }: ObservedConnection, ms: number): Promise<void> {
  const before = requests.length;
  await clock.advance(ms);
  await expect.poll(() => requests.length).toBeGreaterThan(before);
  await clock.advance(0);
}

/** Starts a scripted server and a transport to it. Both are closed when the test ends. */
export async function scriptedTransport(
  clock: Clock,
): Promise<{ server: ScriptedServer; transport: VaultTransport }> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const policy = { allowHttp: true, allowedHosts: undefined };
  const transport = new UndiciTransport({ url: server.url, clock, ca: undefined, policy });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  return { server, transport };
}

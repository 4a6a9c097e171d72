import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { isObject, type JsonObject } from "../../../src/lib/is-object.ts";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type {
  TokenResponse,
  ExposedSecret,
  SecretRecord,
} from "../../../src/protocol/responses.ts";
import { defaultMetadata } from "../../../src/protocol/metadata.ts";

const DAY_MS = 86_400_000;
const EXPIRATION_DAYS = 10;
/** Minutes until a secret is removed whose creator sets no time. */
const DELETE_MINUTES = 525_600_000;
const DELETE_AT = new Date(Date.now() + DELETE_MINUTES * 60_000).toISOString();
const EXPIRES_AT = new Date(Date.now() + EXPIRATION_DAYS * DAY_MS).toISOString();

interface Entry {
  readonly record: SecretRecord;
  readonly value: string;
}

/** The secrets of one account of the stub, with the latest version of each only. */
class StubAccount {
  readonly #email: string;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<() => void>();
  #changes = 0;
  #list: Buffer | undefined;

  constructor(email: string) {
    this.#email = email;
  }

  get etag(): string {
    return `W/"${this.#changes}"`;
  }

  /** The body of a list, kept until a change. */
  get list(): Buffer {
    this.#list ??= Buffer.from(
      JSON.stringify({ secrets: [...this.#entries.values()].map(({ record }) => record) }),
    );
    return this.#list;
  }

  /** Stores the next version. */
  protect(name: string, value: string): SecretRecord {
    const now = new Date().toISOString();
    const record: SecretRecord = {
      key_name: name,
      key_version: (this.#entries.get(name)?.record.key_version ?? 0) + 1,
      owner: this.#email,
      shared: false,
      permission: "RW",
      metadata: defaultMetadata,
      delete_time: DELETE_MINUTES,
      created_at: now,
      updated_at: now,
      expires_at: EXPIRES_AT,
      expired: false,
      delete_at: DELETE_AT,
    };
    this.#entries.set(name, { record, value });
    this.#changes += 1;
    this.#list = undefined;
    for (const notify of this.#waiting) notify();
    return record;
  }

  /** Returns the latest version; `undefined` if there is none, or another one is asked for. */
  expose(name: string, version: unknown): ExposedSecret | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    const { key_name, key_version, metadata, owner, expired } = entry.record;
    if (version !== undefined && version !== key_version) return undefined;
    return { key_name, key_value: entry.value, key_version, metadata, owner, expired };
  }

  /** Resolves at the next change, or after `ms`. */
  async change(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }
}

const HOURS = 24;
/** As many connections as a benchmark opens together. */
const BACKLOG = 16_384;
const operations = new Map<string, Operation>(
  Object.entries(operationPath).map(([operation, path]) => [path, operation as Operation]),
);
const accounts = new Map<string, StubAccount>();
/** Number of responses by the labels of the vault server's metric. */
const counts = new Map<string, number>();

interface Reply {
  readonly status: number;
  readonly body?: Buffer | object;
  readonly headers?: Readonly<Record<string, string>>;
}

const rejected = (status: number, code: string): Reply => ({
  status,
  body: { error: { code, message: code } },
});

function tokens({ scope }: JsonObject, email: string): TokenResponse {
  const rest = { id_token: "id", refresh_token: `refresh-${email}`, token_type: "access" } as const;
  return {
    access_token: `access-${email}`,
    expires_in: HOURS * 3_600,
    scope: typeof scope === "string" ? scope : "",
    ...rest,
  };
}

/**
 * Returns the list unless the client has it; a request with `Prefer: wait` is held until it differs
 * or the time is over.
 */
async function list(account: StubAccount, { headers }: IncomingMessage): Promise<Reply> {
  const known = headers["if-none-match"];
  const seconds = Number(/\bwait=(\d+)/u.exec(String(headers["prefer"]))?.[1] ?? 0);
  const applied = seconds > 0 && { "preference-applied": "wait" };
  if (seconds > 0 && known === account.etag) await account.change(seconds * 1_000);
  const { etag } = account;
  if (known === etag) return { status: 304, headers: { etag, ...applied } };
  return { status: 200, body: account.list, headers: { etag, ...applied } };
}

async function perform(
  operation: Operation,
  body: JsonObject,
  request: IncomingMessage,
): Promise<Reply> {
  const email = String(body["email"]);
  const account = accounts.get(email) ?? new StubAccount(email);
  accounts.set(email, account);
  const name = String(body["key_name"]);
  switch (operation) {
    case "generate_access_token":
    case "refresh_token":
      return { status: 200, body: tokens(body, email) };
    case "protect":
      return { status: 200, body: { secret: account.protect(name, String(body["key_value"])) } };
    case "expose":
    case "version_expose": {
      const exposed = account.expose(name, body["key_version"]);
      return exposed === undefined
        ? rejected(404, "secret_not_found")
        : { status: 200, body: exposed };
    }
    case "list_no_dup":
      return await list(account, request);
    default:
      return rejected(400, "invalid_request");
  }
}

function send(response: ServerResponse, { status, body, headers }: Reply): void {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(body === undefined ? "" : JSON.stringify(body));
  response
    .writeHead(status, {
      "content-type": "application/json",
      "content-length": bytes.byteLength,
      ...headers,
    })
    .end(bytes);
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === "/metrics")
    return void response.end([...counts].map(([name, count]) => `${name} ${count}\n`).join(""));
  const operation = operations.get(request.url ?? "");
  if (operation === undefined) return send(response, rejected(404, "not_found"));
  const body: unknown = JSON.parse(await text(request));
  if (!isObject(body)) return send(response, rejected(400, "invalid_request"));
  const reply = await perform(operation, body, request);
  const name = `vaultsync_vault_requests_total{operation="${operation}",status="${reply.status}"}`;
  counts.set(name, (counts.get(name) ?? 0) + 1);
  send(response, reply);
}

/**
 * A vault for benchmarks with more secrets than the vault server can be filled with in time: a
 * process that stores everything in memory, and responds to the operations that the operator uses
 * as the vault server does. Any password is right; nothing is checked.
 */
const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  respond(request, response).catch(() => response.destroy());
});
await once(server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }), "listening");
const address = server.address();
if (typeof address !== "object" || address === null) throw new Error("not listening");
const url = `http://127.0.0.1:${address.port}`;
process.stdout.write(`${JSON.stringify({ url, metrics_url: url })}\n`);
// The pipe from the process that started it closes when that ends.
process.stdin.on("end", () => process.exit(0)).resume();

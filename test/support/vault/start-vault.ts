import { rm } from "node:fs/promises";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { operationPath, type Operation } from "../../../src/protocol/operations.ts";
import { PostgresDatabase } from "../postgres/postgres-database.ts";
import { onPostgres } from "./vault-data.ts";
import { startVaultServer, type VaultServer, type VaultServerOptions } from "../../../src/vault-server/vault-server.ts";

const errorResponse = z.object({ error: z.object({ code: z.string() }) });

/** One answer as it came over the wire: never decompressed, never followed. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The body as JSON; throws when it is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- assertions look into it
  json(): any;
  /** The code of an error answer; `undefined` when it is none. */
  code(): string | undefined;
  /** Status and error code in one: `200`, `403 forbidden`. */
  outcome(): string;
}

export interface WireRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** One HTTP request on a connection of its own, exactly as given. */
export async function wire(url: string, { method = "POST", headers = {}, body }: WireRequest = {}): Promise<WireAnswer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, resolve);
    request.on("error", reject);
    request.end(body);
  });
  const bytes = await buffer(response);
  const json = (): unknown => JSON.parse(bytes.toString("utf8"));
  const code = (): string | undefined =>
    bytes.length > 0 && response.headers["content-type"]?.startsWith("application/json")
      ? errorResponse.safeParse(json()).data?.error.code
      : undefined;
  const status = response.statusCode ?? 0;
  return { status, headers: response.headers, bytes, json, code, outcome: () => [status, code()].join(" ").trim() };
}

/** A scope that reaches everything but where told otherwise. */
export function scopeString(narrowed: Record<string, string[]> = {}): string {
  const attributes = ["cloud_type", "environment_type", "application_type", "classification", "secret_name"];
  return attributes.flatMap((attribute) => (narrowed[attribute] ?? ["*"]).map((value) => `${attribute}:${value}`)).join(",");
}

export interface VaultFile {
  readonly filename: string;
  readonly bytes: Uint8Array;
}

/** Files as a `multipart/form-data` body, written out so that nothing is added or escaped. */
export function multipartBody(files: readonly VaultFile[], boundary = "test-boundary"): Buffer {
  const parts = files.flatMap(({ filename, bytes }) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

/** Somebody with a token, who calls operations. */
export class VaultCaller {
  readonly #url: string;
  readonly email: string;
  readonly token: string;

  constructor(url: string, email: string, token: string) {
    this.#url = url;
    this.email = email;
    this.token = token;
  }

  /** Sends the caller's own `email` and token unless told otherwise. */
  call(operation: Operation, body: object = {}, headers: OutgoingHttpHeaders = {}): Promise<WireAnswer> {
    return wire(this.#url + operationPath[operation], {
      headers: { "content-type": "application/json", authorization: this.token, ...headers },
      body: JSON.stringify({ email: this.email, ...body }),
    });
  }

  upload(files: readonly VaultFile[], headers: OutgoingHttpHeaders = {}, body = multipartBody(files)): Promise<WireAnswer> {
    return wire(this.#url + operationPath.protect_file, {
      headers: {
        "content-type": "multipart/form-data; boundary=test-boundary",
        authorization: this.token,
        email: this.email,
        countoffiles: String(files.length),
        ...headers,
      },
      body,
    });
  }
}

/** A vault with throw-away accounts on a free port; in memory, or in a database of its own where this run is about PostgreSQL. */
export class TestVault implements AsyncDisposable {
  readonly url: string;
  readonly passwords: ReadonlyMap<string, string>;
  /** Where the `.eml` files are, unless they leave by SMTP. */
  readonly mailDirectory: string | undefined;
  readonly #dispose: () => PromiseLike<void>;

  private constructor(server: VaultServer, running: AsyncDisposableStack) {
    this.url = server.url;
    this.passwords = new Map(server.users.map(({ email, password }) => [email, password.reveal()]));
    this.mailDirectory = server.mailDirectory;
    this.#dispose = () => running.disposeAsync();
  }

  static async start(options: Partial<VaultServerOptions> & { readonly emails?: readonly string[] } = {}): Promise<TestVault> {
    const { emails = ["ann@example.com", "bob@example.com"], ...others } = options;
    await using starting = new AsyncDisposableStack();
    const database = others.data === undefined && onPostgres() ? starting.use(await PostgresDatabase.create()) : undefined;
    const server = await startVaultServer({
      listen: { host: "127.0.0.1", port: 0 },
      data: database?.url ?? ":memory:",
      dev: { users: emails },
      passwordCost: { memoryKib: 8, passes: 1, lanes: 1 },
      ...others,
    });
    const { mailDirectory = "" } = server;
    if (mailDirectory.startsWith(join(tmpdir(), "vaultsync-mail-"))) {
      starting.defer(() => rm(mailDirectory, { recursive: true, force: true }));
    }
    starting.use(server);
    return new TestVault(server, starting.move());
  }

  post(path: string, body: unknown, headers: OutgoingHttpHeaders = {}): Promise<WireAnswer> {
    return wire(this.url + path, { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  }

  /** A raw `generate_access_token`. */
  logIn(
    email: string,
    more: { readonly password?: string; readonly scope?: string; readonly hours?: unknown } = {},
  ): Promise<WireAnswer> {
    const { password = this.passwords.get(email) ?? "", scope = scopeString(), hours = 1 } = more;
    return this.post(operationPath.generate_access_token, { email, password, scope, expiration_hours: hours });
  }

  async caller(email: string, scope?: string, hours?: number): Promise<VaultCaller> {
    const answer = await this.logIn(email, { ...(scope !== undefined && { scope }), ...(hours !== undefined && { hours }) });
    if (answer.status !== 200) throw new Error(`log-in failed: ${answer.bytes.toString()}`);
    return new VaultCaller(this.url, email, answer.json().access_token);
  }

  /** Value of one sample of `/metrics`, 0 when it is not there. */
  async metric(sample: string): Promise<number> {
    const text = (await wire(`${this.url}/metrics`, { method: "GET" })).bytes.toString();
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${sample} `));
    return Number(line?.slice(sample.length + 1) ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}

import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { buffer } from "node:stream/consumers";
import { z } from "zod";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";

const errorBody = z.object({ error: z.object({ code: z.string() }) });

/** A raw response: not decompressed, redirects not followed. */
export interface VaultResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Parses the body as JSON. @throws SyntaxError when it is none */
  // oxlint-disable-next-line typescript/no-explicit-any -- assertions inspect it
  json(): any;
  /** Returns the code of an error response, `undefined` for any other. */
  code(): string | undefined;
  /** Returns status and error code: `200`, `403 forbidden`. */
  outcome(): string;
}

export interface VaultRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** Default: a new connection for each request. */
  readonly agent?: Agent | undefined;
}

/** Sends one HTTP request exactly as given, except that headers set to `undefined` are omitted. */
export async function sendRequest(
  url: string,
  { method = "POST", headers = {}, body, agent }: VaultRequest = {},
): Promise<VaultResponse> {
  const given = Object.fromEntries(
    Object.entries(headers).filter(([, value]) => value !== undefined),
  );
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const send = url.startsWith("https:") ? httpsRequest : httpRequest;
    const request = send(url, { method, headers: given, agent: agent ?? false }, resolve);
    request.on("error", reject);
    request.end(body);
  });
  const bytes = await buffer(response);
  const json = (): unknown => JSON.parse(bytes.toString("utf8"));
  const code = (): string | undefined =>
    bytes.length > 0 && response.headers["content-type"]?.startsWith("application/json")
      ? errorBody.safeParse(json()).data?.error.code
      : undefined;
  const status = response.statusCode ?? 0;
  return {
    status,
    headers: response.headers,
    bytes,
    json,
    code,
    outcome: () => [status, code()].join(" ").trim(),
  };
}

/** Returns a scope that covers everything except where narrowed. */
export function scopeString(narrowed: Record<string, string[]> = {}): string {
  const attributes = [
    "cloud_type",
    "environment_type",
    "application_type",
    "classification",
    "secret_name",
  ];
  return attributes
    .flatMap((attribute) => (narrowed[attribute] ?? ["*"]).map((value) => `${attribute}:${value}`))
    .join(",");
}

export interface FileUpload {
  readonly filename: string;
  readonly bytes: Uint8Array;
}

const BOUNDARY = "test-boundary";

/**
 * Returns files as a `multipart/form-data` body. It is assembled by hand: nothing is added or
 * escaped.
 */
export function multipartBody(files: readonly FileUpload[]): Buffer {
  const parts = files.flatMap(({ filename, bytes }) => [
    Buffer.from(
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`,
    ),
    bytes,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

export interface VaultClientOptions {
  /** Access token; without it, `logIn` first. */
  readonly token?: string;
  /** Sends all requests through one connection, as a load or a measurement does. */
  readonly keepAlive?: boolean;
}

/**
 * A raw client of the vault's API, for tests and benchmarks: one account, authenticated by an access
 * token. It sends any body, and returns every response unparsed, whatever its status. The typed
 * client is in src/protocol/client.
 */
export class VaultClient implements Disposable {
  readonly email: string;
  protected readonly url: string;
  readonly #agent: Agent | undefined;
  #token: string;

  constructor(
    url: string,
    email: string,
    { token = "", keepAlive = false }: VaultClientOptions = {},
  ) {
    this.url = url;
    this.email = email;
    this.#token = token;
    this.#agent = keepAlive ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined;
  }

  /** Returns a client that is logged in. @throws Error when the vault rejects the login */
  static async connect(
    url: string,
    email: string,
    password = "",
    options: Pick<VaultClientOptions, "keepAlive"> = {},
  ): Promise<VaultClient> {
    const client = new VaultClient(url, email, options);
    const response = await client.logIn(password);
    if (response.status !== 200) throw new Error(`login of ${email}: ${response.outcome()}`);
    return client;
  }

  get token(): string {
    return this.#token;
  }

  /** Headers that authenticate a request. */
  get credentials(): OutgoingHttpHeaders {
    return this.#token === "" ? {} : { authorization: this.#token };
  }

  /** Returns a client of another server with the same account, token and kind of connection. */
  at(url: string): VaultClient {
    return new VaultClient(url, this.email, {
      token: this.#token,
      keepAlive: this.#agent !== undefined,
    });
  }

  send(path: string, request: VaultRequest): Promise<VaultResponse> {
    return sendRequest(this.url + path, { agent: this.#agent, ...request });
  }

  post(path: string, body: object, headers: OutgoingHttpHeaders = {}): Promise<VaultResponse> {
    const all = { "content-type": "application/json", ...this.credentials, ...headers };
    return this.send(path, { headers: all, body: JSON.stringify(body) });
  }

  /** Calls an operation with the account's own email, unless `body` has another. */
  call(
    operation: Operation,
    body: object = {},
    headers: OutgoingHttpHeaders = {},
  ): Promise<VaultResponse> {
    return this.post(operationPath[operation], { email: this.email, ...body }, headers);
  }

  upload(
    files: readonly FileUpload[],
    headers: OutgoingHttpHeaders = {},
    body = multipartBody(files),
  ): Promise<VaultResponse> {
    const all = {
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
      ...this.credentials,
      email: this.email,
      countoffiles: String(files.length),
      ...headers,
    };
    return this.send(operationPath.protect_file, { headers: all, body });
  }

  /** Requests an access token for the whole scope and uses it from then on. */
  async logIn(password: string): Promise<VaultResponse> {
    const body = { password, scope: scopeString(), expiration_hours: 24 };
    const response = await this.call("generate_access_token", body, { authorization: undefined });
    if (response.status === 200) this.#token = response.json().access_token;
    return response;
  }

  [Symbol.dispose](): void {
    this.#agent?.destroy();
  }
}

import { Agent, type Dispatcher } from "undici";
import type { Access, Credentials, TlsMaterial } from "../credentials/credentials.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { KubeError } from "../kube-error.ts";
import { receiveWhole, type WholeResponse } from "./receive-whole.ts";
import { codeOf } from "../../../lib/errors.ts";

/** One attempt of a request to the API server. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query on the API server. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The request's name in errors. */
  readonly operation: string;
  readonly signal: AbortSignal;
  /**
   * Called directly before the request is sent on a connection. If it throws, nothing is sent, and
   * `send` rejects with the error.
   */
  readonly beforeSend?: () => void;
}

interface Pools {
  readonly tls: Redacted<TlsMaterial>;
  readonly requests: Agent;
  readonly watches: Agent;
}

const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Also for watches: their headers arrive immediately, and the caller bounds the silence of their
 * body.
 */
const HEADERS_TIMEOUT_MS = 30_000;
/**
 * Below the 90 s after which an API server closes an idle connection: no request uses a connection
 * that is being closed.
 */
const KEEP_ALIVE_MS = 45_000;
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;

/**
 * Sends requests to one API server over HTTP/1.1, with one connection pool for requests and one for
 * watches. HTTP/2 would use a single connection, and its pings do not detect a dead peer. New TLS
 * material creates new pools; requests on the old ones finish there.
 */
export class KubeTransport implements AsyncDisposable {
  readonly #credentials: Credentials;
  readonly #connections: number;
  readonly #retired = new Set<Pools>();
  #pools: Pools | undefined;

  /** @param connections maximum number of connections for requests; each watch has its own */
  constructor(credentials: Credentials, connections: number) {
    this.#credentials = credentials;
    this.#connections = connections;
  }

  /**
   * Sends the request and returns the whole response, whatever its status. After a 401 it loads the
   * credentials again and retries once.
   * @throws KubeError `Timeout`, `Unavailable`, `Unauthorized` (no credentials) or `Unexpected`;
   * the signal's reason when aborted
   */
  send(request: KubeRequest): Promise<WholeResponse> {
    return this.#authorized(request, (access) => {
      const { requests } = this.#poolsFor(access.tls);
      return receiveWhole(requests, this.#dispatched(request, access), request);
    });
  }

  /** Like `send`, but returns the body as a stream, on a connection of the watches. */
  stream(request: KubeRequest): Promise<Dispatcher.ResponseData> {
    return this.#authorized(
      request,
      (access) => {
        const { watches } = this.#poolsFor(access.tls);
        return watches.request({ ...this.#dispatched(request, access), signal: request.signal });
      },
      ({ body }) => body.dump(),
    );
  }

  async #authorized<T extends { readonly statusCode: number }>(
    request: KubeRequest,
    attempt: (access: Access) => Promise<T>,
    discard?: (response: T) => Promise<void>,
  ): Promise<T> {
    const access = await this.#access(request);
    const response = await this.#attempt(request, access, attempt);
    if (response.statusCode !== 401) return response;
    await discard?.(response);
    await this.#credentials.reject(access);
    return this.#attempt(request, await this.#access(request), attempt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = this.#pools ? [this.#pools, ...this.#retired] : [...this.#retired];
    this.#pools = undefined;
    await Promise.all(
      all.flatMap(({ requests, watches }) => [requests.destroy(), watches.destroy()]),
    );
  }

  async #access(request: KubeRequest): Promise<Access> {
    request.signal.throwIfAborted();
    try {
      return await this.#credentials.access();
    } catch {
      // Without the cause: the output of a credential plugin can contain a token.
      throw new KubeError({
        kind: "Unauthorized",
        operation: request.operation,
        reason: "CredentialsUnreadable",
      });
    }
  }

  async #attempt<T>(
    request: KubeRequest,
    access: Access,
    attempt: (access: Access) => Promise<T>,
  ): Promise<T> {
    try {
      return await attempt(access);
    } catch (error) {
      if (isTlsFailure(error)) await this.#credentials.reject(access);
      throw transportError(error, request);
    }
  }

  #dispatched(
    { path, method, headers, body }: KubeRequest,
    access: Access,
  ): Dispatcher.DispatchOptions & { readonly origin: string } {
    const { origin, pathname } = this.#credentials.server;
    return {
      origin,
      path: `${pathname.replace(/\/$/, "")}${path}`,
      method,
      headers: {
        "user-agent": "vaultsync",
        "accept-encoding": "identity",
        ...access.headers.reveal(),
        ...headers,
      },
      body: body ?? null,
    };
  }

  #poolsFor(tls: Redacted<TlsMaterial>): Pools {
    // By identity first: the CA is a long text, and is loaded again every few seconds.
    if (this.#pools?.tls === tls) return this.#pools;
    if (this.#pools && isSame(this.#pools.tls, tls)) return (this.#pools = { ...this.#pools, tls });
    if (this.#pools) this.#retire(this.#pools);
    const common = {
      allowH2: false,
      // A resumed TLS session is not verified again, not even for the expiry of the certificate.
      connect: { ...tls.reveal(), timeout: CONNECT_TIMEOUT_MS, maxCachedSessions: 0 },
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    };
    this.#pools = {
      tls,
      requests: new Agent({
        ...common,
        connections: this.#connections,
        maxResponseSize: MAX_RESPONSE_BYTES,
      }),
      watches: new Agent({ ...common, bodyTimeout: 0 }),
    };
    return this.#pools;
  }

  #retire(pools: Pools): void {
    this.#retired.add(pools);
    const forget = (): boolean => this.#retired.delete(pools);
    void Promise.all([pools.requests.close(), pools.watches.close()]).then(forget, forget);
  }
}

function isSame(a: Redacted<TlsMaterial>, b: Redacted<TlsMaterial>): boolean {
  return JSON.stringify(a.reveal()) === JSON.stringify(b.reveal());
}

/**
 * Maps a failure of a request or of its body to a `KubeError`, or to the signal's reason when the
 * signal was aborted.
 */
export function transportError(
  error: unknown,
  request: Pick<KubeRequest, "operation" | "signal">,
): unknown {
  if (request.signal.aborted) return request.signal.reason;
  if (error instanceof KubeError) return error;
  const code = codeOf(error) ?? "";
  const { operation } = request;
  if (code.endsWith("_TIMEOUT") || code === "ETIMEDOUT")
    return new KubeError({ kind: "Timeout", operation, reason: code });
  if (code === "" || code === "UND_ERR_INVALID_ARG" || code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return new KubeError({ kind: "Unexpected", operation, reason: code });
  }
  return new KubeError({ kind: "Unavailable", operation, reason: code });
}

function isTlsFailure(error: unknown): boolean {
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|ERR_SSL_)/.test(codeOf(error) ?? "");
}

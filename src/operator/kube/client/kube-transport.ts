import { Agent, type Dispatcher } from "undici";
import type { Access, Credentials, TlsMaterial } from "../credentials/credentials.ts";
import { KubeError } from "../kube-error.ts";
import { codeOf } from "../../../lib/error-code.ts";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query on the API server. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What the request is called in errors. */
  readonly operation: string;
  readonly pool: "calls" | "watches";
  readonly signal: AbortSignal;
}

interface Pools {
  readonly tls: string;
  readonly calls: Agent;
  readonly watches: Agent;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** A watch's headers come at once; its body is bounded by whoever watches. */
const HEADERS_TIMEOUT_MS = 30_000;
/** Below the 90 s after which an API server closes an idle connection, so that it is never reused while being closed. */
const KEEP_ALIVE_MS = 45_000;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/**
 * The connections to one API server: one pool for calls, one for watches, HTTP/1.1. (HTTP/2 would put everything on one connection,
 * and its pings do not notice a dead peer; design: kube-facts.) New TLS material means new pools; what still runs on the old ones ends
 * there.
 */
export class Transport implements AsyncDisposable {
  readonly #credentials: Credentials;
  readonly #connections: number;
  readonly #retired = new Set<Pools>();
  #pools: Pools | undefined;

  /** @param connections how many connections calls may open; a watch always has its own */
  constructor(credentials: Credentials, connections: number) {
    this.#credentials = credentials;
    this.#connections = connections;
  }

  /**
   * Sends, and answers whatever status comes. A 401 makes the credentials load again, and is repeated once.
   * @throws KubeError `Timeout`, `Unavailable`, `Unauthorized` (no credentials) or `Unexpected`; the signal's reason when aborted
   */
  async send(request: KubeRequest): Promise<Dispatcher.ResponseData> {
    const access = await this.#access(request);
    const answer = await this.#dispatch(request, access);
    if (answer.statusCode !== 401) return answer;
    await answer.body.dump();
    await this.#credentials.refuse(access);
    return this.#dispatch(request, await this.#access(request));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = this.#pools ? [this.#pools, ...this.#retired] : [...this.#retired];
    this.#pools = undefined;
    await Promise.all(all.flatMap(({ calls, watches }) => [calls.destroy(), watches.destroy()]));
  }

  async #access(request: KubeRequest): Promise<Access> {
    request.signal.throwIfAborted();
    try {
      return await this.#credentials.access();
    } catch {
      // Not the cause: a credential plugin's output can hold anything.
      throw new KubeError({ kind: "Unauthorized", operation: request.operation, reason: "CredentialsUnreadable" });
    }
  }

  async #dispatch(request: KubeRequest, access: Access): Promise<Dispatcher.ResponseData> {
    const { server } = this.#credentials;
    try {
      return await this.#poolsFor(access.tls.reveal())[request.pool].request({
        origin: server.origin,
        path: `${server.pathname.replace(/\/$/, "")}${request.path}`,
        method: request.method,
        headers: { "user-agent": "vaultsync", "accept-encoding": "identity", ...access.headers.reveal(), ...request.headers },
        body: request.body ?? null,
        signal: request.signal,
      });
    } catch (error) {
      if (isTlsFailure(error)) await this.#credentials.refuse(access);
      throw errorOfTransport(error, request);
    }
  }

  #poolsFor(tls: TlsMaterial): Pools {
    const fingerprint = JSON.stringify(tls);
    if (this.#pools?.tls === fingerprint) return this.#pools;
    if (this.#pools) this.#retire(this.#pools);
    const common = {
      allowH2: false,
      connect: { ...tls, timeout: CONNECT_TIMEOUT_MS },
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    };
    this.#pools = {
      tls: fingerprint,
      calls: new Agent({ ...common, connections: this.#connections, maxResponseSize: MAX_ANSWER_BYTES }),
      watches: new Agent({ ...common, bodyTimeout: 0 }),
    };
    return this.#pools;
  }

  #retire(pools: Pools): void {
    this.#retired.add(pools);
    const forget = (): boolean => this.#retired.delete(pools);
    void Promise.all([pools.calls.close(), pools.watches.close()]).then(forget, forget);
  }
}

/** The error for a request or a body that broke. @returns the signal's reason when that is why */
export function errorOfTransport(error: unknown, request: Pick<KubeRequest, "operation" | "signal">): unknown {
  if (request.signal.aborted) return request.signal.reason;
  if (error instanceof KubeError) return error;
  const code = codeOf(error) ?? "";
  const { operation } = request;
  if (code.endsWith("_TIMEOUT") || code === "ETIMEDOUT") return new KubeError({ kind: "Timeout", operation, reason: code });
  if (code === "" || code === "UND_ERR_INVALID_ARG" || code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return new KubeError({ kind: "Unexpected", operation, reason: code });
  }
  return new KubeError({ kind: "Unavailable", operation, reason: code });
}

function isTlsFailure(error: unknown): boolean {
  return /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|ERR_SSL_)/.test(codeOf(error) ?? "");
}

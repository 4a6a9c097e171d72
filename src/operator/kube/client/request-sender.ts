import type { Clock } from "../../../lib/clock.ts";
import { jsonOrUndefined } from "../../../lib/json-or-undefined.ts";
import { Deadline } from "../../lib/deadline.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { KubeError } from "../kube-error.ts";
import type { WriteFence } from "./kube-api.ts";
import { KubeTransport, transportError, type KubeRequest } from "./kube-transport.ts";
import type { WholeResponse } from "./receive-whole.ts";
import { statusOfErrorEvent } from "./decode-object.ts";
import { responseError, statusCodeOf } from "./response-error.ts";
import { InFlightLimiter } from "../../lib/in-flight-limiter.ts";

/** Several times the size limit of an object in etcd. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * Yields the JSON values of a stream of lines.
 * @throws KubeError `Unexpected` for a line that is too long or not JSON, `Unavailable` when the
 * stream ends within a line
 */
export async function* readJsonLines(
  chunks: AsyncIterable<Uint8Array>,
  operation: string,
): AsyncGenerator {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n", start)) {
      yield parseJson(rest.slice(start, end), operation);
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length > MAX_LINE_LENGTH)
      throw new KubeError({ kind: "Unexpected", operation, reason: "LineTooLong" });
  }
  if (rest !== "") throw new KubeError({ kind: "Unavailable", operation, reason: "TruncatedLine" });
}

/** Parses JSON. @throws KubeError `Unexpected`, never the parser's error: it quotes the text */
function parseJson(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new KubeError({ kind: "Unexpected", operation, reason: "UnreadableResponse" });
  }
}

export type ApiRequest = Pick<KubeRequest, "method" | "path" | "operation" | "signal"> & {
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: object;
};

export interface RequestSenderOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Maximum number of writes in flight; 16 by default. */
  readonly concurrency?: number;
  /**
   * Called for each request that was sent, repeated ones included, with its HTTP status; `none`
   * without a response.
   */
  readonly onRequest?: ((method: string, status: string, durationMs: number) => void) | undefined;
}

const DEFAULT_CONCURRENCY = 16;
/** Connections in addition to one per write in flight: no read waits for a slow write. */
const CONNECTIONS_FOR_READS = 8;
/** Time for one attempt of a request, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** Maximum number of retries of a request after 429 or 503. */
const MAX_RETRIES = 3;
/**
 * Longest delay before such a retry. If the server asks for more, the caller's queue has to wait
 * instead of a worker.
 */
const MAX_RETRY_DELAY_MS = 5_000;

export const JSON_TYPE = "application/json";

/**
 * Sends requests over a few shared connections (`KubeTransport`) and returns their parsed bodies.
 * 429, and 503 for anything but POST, are retried up to three times after the server's
 * `Retry-After`. The number of writes in flight is limited, and reduced after a 429.
 */
export class RequestSender implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #transport: KubeTransport;
  readonly #writes: InFlightLimiter;
  readonly #onRequest: RequestSenderOptions["onRequest"];

  constructor({
    credentials,
    clock,
    concurrency = DEFAULT_CONCURRENCY,
    onRequest,
  }: RequestSenderOptions) {
    this.#onRequest = onRequest;
    this.#clock = clock;
    this.#transport = new KubeTransport(credentials, concurrency + CONNECTIONS_FOR_READS);
    this.#writes = new InFlightLimiter(concurrency);
  }

  /** Closes all connections; requests and watches in flight fail. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#transport[Symbol.asyncDispose]();
  }

  /**
   * Sends the request, retries it when the server asks for that, and returns the parsed body. The
   * fence holds for writes only.
   */
  async send(request: ApiRequest, fence?: WriteFence): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await (request.method === "GET"
          ? this.#attempt(request)
          : this.#write(request, fence));
      } catch (error) {
        const delay = error instanceof KubeError ? retryDelay(error, request) : undefined;
        if (delay === undefined || delay > MAX_RETRY_DELAY_MS || attempt === MAX_RETRIES)
          throw error;
        await this.#clock.sleep(delay, request.signal).catch(() => request.signal.throwIfAborted());
      }
    }
  }

  /**
   * Yields the lines of a stream, parsed, whose time the caller limits. Calls `onOpen` when the
   * server has accepted it. Ends when the server ends it between two lines.
   * @throws KubeError for a failed request, an ERROR event, a reset, or an unreadable line
   */
  async *stream(
    { path, operation, signal, accept = JSON_TYPE }: ApiRequest,
    onOpen?: () => void,
  ): AsyncGenerator {
    const request: KubeRequest = {
      method: "GET",
      path,
      operation,
      headers: { accept },
      signal,
    };
    const response = await this.#observed("WATCH", () => this.#transport.stream(request));
    if (response.statusCode !== 200)
      throw this.#failure({ ...response, text: await response.body.text() }, request);
    onOpen?.();
    try {
      for await (const line of readJsonLines(response.body, operation)) {
        const status = statusOfErrorEvent(line);
        if (status !== undefined) throw this.#streamError(status, operation);
        yield line;
      }
    } catch (error) {
      throw transportError(error, request);
    }
  }

  async #write(request: ApiRequest, fence: WriteFence | undefined): Promise<unknown> {
    using _slot = await this.#writes.acquire(request.signal);
    try {
      const body = await this.#attempt(request, fence);
      this.#writes.onSuccess();
      return body;
    } catch (error) {
      if (error instanceof KubeError && error.kind === "TooManyRequests")
        this.#writes.onThrottled();
      throw error;
    }
  }

  async #attempt(
    { method, path, operation, signal, body, ...types }: ApiRequest,
    fence?: WriteFence,
  ): Promise<unknown> {
    const { accept = JSON_TYPE, contentType = JSON_TYPE } = types;
    const assertMayWrite = (): void => {
      if (fence?.mayWrite() === false) throw new KubeError({ kind: "NotLeader", operation });
    };
    assertMayWrite();
    using deadline = new Deadline(
      this.#clock,
      Math.min(TIMEOUT_MS, fence?.writeTimeoutMs() ?? Infinity),
      signal,
    );
    const request: KubeRequest = {
      method,
      path,
      operation,
      signal: deadline.signal,
      // Time has passed while the request waited for a connection.
      beforeSend: assertMayWrite,
      headers: body ? { accept, "content-type": contentType } : { accept },
      ...(body && { body: JSON.stringify(body) }),
    };
    try {
      const response = await this.#observed(method, () => this.#transport.send(request));
      if (response.statusCode < 200 || response.statusCode > 299)
        throw this.#failure(response, request);
      return parseJson(response.text, operation);
    } catch (error) {
      if (deadline.expired) throw new KubeError({ kind: "Timeout", operation, reason: "Deadline" });
      throw transportError(error, request);
    }
  }

  /**
   * Sends a request, and reports how it ended. One that was never sent, because the fence closed,
   * is not reported.
   */
  async #observed<T extends { readonly statusCode: number }>(
    method: string,
    send: () => Promise<T>,
  ): Promise<T> {
    const start = this.#clock.monotonic();
    const report = (status: string): void =>
      this.#onRequest?.(method, status, this.#clock.monotonic() - start);
    try {
      const response = await send();
      report(String(response.statusCode));
      return response;
    } catch (error) {
      if (!(error instanceof KubeError && error.kind === "NotLeader")) report("none");
      throw error;
    }
  }

  #failure({ statusCode, headers, text }: WholeResponse, request: KubeRequest): KubeError {
    const header = (name: string): string | undefined => [headers[name] ?? []].flat()[0];
    return responseError({
      operation: request.operation,
      status: statusCode,
      body: jsonOrUndefined(text),
      retryAfter: header("retry-after"),
      auditId: header("audit-id"),
      onlyReads: request.method === "GET",
      now: this.#clock.now(),
    });
  }

  #streamError(body: unknown, operation: string): KubeError {
    return responseError({ operation, status: statusCodeOf(body), body, now: this.#clock.now() });
  }
}

/**
 * Returns the delay before a retry, if one is safe: the server did not start a request rejected
 * with 429, but may have started one that ends with 503.
 */
function retryDelay(error: KubeError, request: ApiRequest): number | undefined {
  if (error.kind === "TooManyRequests") return error.retryAfterMs ?? 1_000;
  return error.status === 503 && request.method !== "POST" ? error.retryAfterMs : undefined;
}

import { Pool, type Dispatcher } from "undici";
import { operationPath, type Operation } from "../../../protocol/operations.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { PermanentError, RefusedError, TransientError, UnexpectedResponse } from "../vault-error.ts";
import { policyLookup, refusalOf, type HostPolicy } from "./host-policy.ts";
import { networkError } from "./network-error.ts";
import { discardBody, readBody } from "./read-body.ts";
import { trust } from "./trust.ts";

const CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 3_000;
/** An error's body is read for its code only; a longer one is not an error body we know. */
const MAX_ERROR_BYTES = 64 * 1024;

export interface VaultTransportOptions {
  /** The base address, without `/v1`. */
  readonly url: string;
  readonly policy: HostPolicy;
  readonly clock: Clock;
  /** PEM bundle trusted instead of the public authorities. */
  readonly ca: string | undefined;
}

export interface VaultRequest {
  readonly operation: Operation;
  readonly body: object;
  readonly token?: Redacted<string> | undefined;
  readonly ifNoneMatch?: string | undefined;
  /** The most bytes a successful answer may have. */
  readonly maxBytes: number;
  /** For the whole call, from connecting to the last byte, in milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export interface VaultResponse {
  readonly status: number;
  readonly body: Uint8Array;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
}

/**
 * One call = one POST = one answer, whole and within its caps, or an error. Never follows a redirect, never asks for compression,
 * never retries, knows no proxy. Says nothing about what a status means.
 */
export class VaultTransport implements AsyncDisposable {
  readonly #options: VaultTransportOptions;
  #pool: Pool | NoPool;

  constructor(options: VaultTransportOptions) {
    this.#options = options;
    this.#pool = open(options, options.ca);
  }

  /** From now on new sockets trust this bundle; calls under way end as they began. */
  updateCa(ca: string | undefined): void {
    const old = this.#pool;
    this.#pool = open(this.#options, ca);
    // Nobody waits for the old pool: what fails in it fails in the call that uses it.
    if (old instanceof Pool) old.close().catch(() => undefined);
  }

  /** @throws TransientError, PermanentError (`too_large`), UnexpectedResponse, RefusedError, or the signal's reason */
  async request(request: VaultRequest): Promise<VaultResponse> {
    const { operation, signal } = request;
    signal.throwIfAborted();
    if (!(this.#pool instanceof Pool)) throw new RefusedError(operation, this.#pool.refused);
    const deadline = new AbortController();
    using _timer = this.#options.clock.timer(request.deadlineMs, () => deadline.abort());
    try {
      return await post(this.#pool, this.#options.url, request, AbortSignal.any([signal, deadline.signal]));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (deadline.signal.aborted) throw new TransientError(operation, "timeout");
      if (error instanceof PermanentError || error instanceof UnexpectedResponse) throw error;
      throw networkError(operation, error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#pool instanceof Pool) await this.#pool.destroy();
  }
}

interface NoPool {
  readonly refused: RefusedError["code"];
}

function open({ url: address, policy }: VaultTransportOptions, ca: string | undefined): Pool | NoPool {
  const url = URL.parse(address);
  const refused = url ? refusalOf(url, policy) : "url";
  if (!url || refused) return { refused: refused ?? "url" };
  try {
    return new Pool(url.origin, {
      connections: CONNECTIONS,
      allowH2: false,
      // The deadline of the whole call stands in for these.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: CONNECT_TIMEOUT_MS,
        lookup: policyLookup(policy),
        secureContext: trust(ca),
        // Said out loud, so that no environment variable can turn it off.
        rejectUnauthorized: true,
      },
    });
  } catch {
    return { refused: "ca" };
  }
}

function path(base: string, operation: Operation): string {
  return new URL(base).pathname.replace(/\/$/, "") + operationPath[operation];
}

async function post(pool: Pool, base: string, request: VaultRequest, signal: AbortSignal): Promise<VaultResponse> {
  const { operation, token, ifNoneMatch, maxBytes } = request;
  const answer = await pool.request({
    method: "POST",
    path: path(base, operation),
    headers: {
      "content-type": "application/json",
      accept: operation === "download_file" ? "application/octet-stream, application/json" : "application/json",
      "accept-encoding": "identity",
      "user-agent": "vaultsync",
      ...(token && { authorization: token.reveal() }),
      ...(ifNoneMatch && { "if-none-match": ifNoneMatch }),
    },
    body: JSON.stringify(request.body),
    signal,
  });
  const success = answer.statusCode < 300;
  if (success && encoded(answer)) {
    discardBody(answer.body);
    throw new UnexpectedResponse(operation, "content-encoding");
  }
  const body = await readBody(answer, success ? maxBytes : MAX_ERROR_BYTES);
  if (success && body === undefined) throw new PermanentError(operation, "too_large");
  return { status: answer.statusCode, body: body ?? new Uint8Array(), header: (name) => single(answer.headers[name]) };
}

function encoded({ headers }: Dispatcher.ResponseData): boolean {
  const encoding = single(headers["content-encoding"]);
  return encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity";
}

function single(value: string | string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value;
}

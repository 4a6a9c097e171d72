import type { Clock } from "../../../../src/lib/clock.ts";
import { Deadline } from "../../../../src/operator/lib/deadline.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../../../../src/operator/vault-client/http/vault-transport.ts";
import { tooLong, TransientError } from "../../../../src/operator/vault-client/vault-error.ts";
import type { InMemoryResponse, InMemoryVault } from "./in-memory-vault.ts";

/**
 * The network between a client and the vault. Both functions may wait, and may throw a
 * `VaultError`: `send` before the vault sees the request, `respond` after it responded. `respond`
 * may replace the response.
 */
export interface VaultNetwork {
  /** Returns a response that another server gives instead of the vault, if any. */
  send?(request: VaultRequest, signal: AbortSignal): Promise<InMemoryResponse | undefined>;
  respond?(
    request: VaultRequest,
    response: InMemoryResponse,
    signal: AbortSignal,
  ): Promise<InMemoryResponse>;
}

/** A proxy in front of a vault that ends each list that the vault holds after a time. */
export interface CuttingProxy {
  readonly afterMs: number;
  /** Returns its own response, or throws, as a broken connection does. */
  readonly end: () => InMemoryResponse;
}

export interface InMemoryTransportOptions {
  readonly vault: InMemoryVault;
  readonly clock: Clock;
  readonly network?: VaultNetwork;
  /** Reports whether the vault follows `Prefer: wait`, by default. */
  readonly holdsLists?: () => boolean;
  readonly proxy?: () => CuttingProxy | undefined;
}

/** The in-memory implementation of `VaultTransport`. */
export class InMemoryTransport implements VaultTransport {
  readonly #options: InMemoryTransportOptions;
  /** Aborted when the connection of all requests in progress breaks. */
  #connection = new AbortController();
  #isClosed = false;

  constructor(options: InMemoryTransportOptions) {
    this.#options = options;
  }

  updateCa(_ca: string | undefined): void {}

  async request(request: VaultRequest): Promise<VaultResponse> {
    const { operation, maxBytes, memory, deadlineMs, signal } = request;
    signal.throwIfAborted();
    if (this.#isClosed) throw new TransientError(operation, "reset");
    const connection = this.#connection.signal;
    using deadline = new Deadline(this.#options.clock, deadlineMs, signal);
    const closed = (): void => deadline.restart(0);
    connection.addEventListener("abort", closed, { once: true });
    try {
      const { status, headers, body } = await this.#exchange(request, deadline.signal);
      if (status < 300 && body.byteLength > maxBytes) throw tooLong(operation, maxBytes);
      if (status < 300) await memory?.reserve(body.byteLength, deadline.signal);
      return { status, body, header: (name) => headers[name] };
    } catch (error) {
      if (connection.aborted) throw new TransientError(operation, "reset");
      if (deadline.expired) throw new TransientError(operation, "timeout");
      throw error;
    } finally {
      connection.removeEventListener("abort", closed);
    }
  }

  /** Breaks the connection: all requests in progress fail. */
  reset(): void {
    this.#connection.abort();
    this.#connection = new AbortController();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.reset();
    return Promise.resolve();
  }

  async #exchange(request: VaultRequest, signal: AbortSignal): Promise<InMemoryResponse> {
    const { network } = this.#options;
    const intercepted = await network?.send?.(request, signal);
    const response = intercepted ?? (await this.#held(request, signal));
    return (await network?.respond?.(request, response, signal)) ?? response;
  }

  /**
   * Returns the vault's response: that to a conditional list when it has changed, or when the time
   * to wait is over.
   */
  async #held(request: VaultRequest, signal: AbortSignal): Promise<InMemoryResponse> {
    const { vault, clock, proxy, holdsLists = () => true } = this.#options;
    const { operation, body, token, ifNoneMatch, waitSeconds = 0 } = request;
    const upload = request.upload && {
      filename: request.upload.filename,
      bytes: request.upload.bytes.reveal(),
    };
    const respond = (): InMemoryResponse =>
      vault.respond({ operation, body: { ...body }, token: token?.reveal(), ifNoneMatch, upload });
    if (waitSeconds === 0 || ifNoneMatch === undefined || !holdsLists()) return respond();
    const start = clock.monotonic();
    const end = start + waitSeconds * 1_000;
    const { afterMs = Infinity, end: cut } = proxy?.() ?? {};
    for (;;) {
      const response = respond();
      const now = clock.monotonic();
      if (response.status === 304 && now - start >= afterMs && now < end && cut) return cut();
      const left = Math.max(1, Math.min(end - now, start + afterMs - now, vault.nextChangeIn));
      if (response.status !== 304 || end <= now) {
        return { ...response, headers: { ...response.headers, "preference-applied": "wait" } };
      }
      await nextChange(vault, clock, left, signal);
    }
  }
}

/** Resolves at the next change of the vault, or after `ms`. Rejects with the signal's reason. */
async function nextChange(
  vault: InMemoryVault,
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  using _timer = clock.timer(ms, resolve);
  using _change = vault.onChange(resolve);
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

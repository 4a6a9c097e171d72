import type { Clock } from "../../../src/lib/clock.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../../../src/operator/vault-client/http/vault-transport.ts";
import { TransientError } from "../../../src/operator/vault-client/vault-error.ts";

/** A proxy in front of a vault that ends each request after a time. */
interface CuttingProxy {
  readonly afterMs: number;
  /** Returns its own response, or throws, as a broken connection does. */
  readonly end: (operation: VaultRequest["operation"]) => VaultResponse;
}

/** A vault in memory, whose responses take a time on the clock. All secrets are of one account. */
export class SimulatedVault implements VaultTransport {
  /** Time from a request to its response in milliseconds. */
  latencyMs = 10;
  /**
   * Maximum number of requests per second of the clock; others are rejected with 429 until the next
   * second.
   */
  requestsPerSecond = Infinity;
  /** Requests that were not rejected with 429, by operation. */
  readonly requests = new Map<string, number>();
  /** Names whose values cannot be read: the vault responds with 500. */
  readonly unreadable = new Set<string>();
  /** Holds conditional lists until the list changes (RFC 7240, `Prefer: wait`). */
  holds = false;
  /** The body of each response to a list, as of a gateway that responds in place of the vault. */
  listBody: object | undefined;
  proxy: CuttingProxy | undefined;
  /** Time of each request, and of each list request, in monotonic milliseconds. */
  readonly requestedAt: number[] = [];
  readonly listedAt: number[] = [];
  readonly #clock: Clock;
  readonly #versions = new Map<string, number>();
  readonly #deleteAt = new Map<string, number>();
  /** Time of the first list that showed this value, by value. */
  readonly #shownAt = new Map<string, number>();
  #revision = 0;
  #isDown = false;
  /** Aborted to end the lists that are held. */
  #held = new AbortController();
  /** The current second of the clock, and the requests that were admitted in it. */
  #second = { at: 0, admitted: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Creates secrets, or a new version of those that exist. */
  write(...names: readonly string[]): void {
    for (const name of names) this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
    this.#change();
  }

  /** Deletes secrets. */
  remove(...names: readonly string[]): void {
    for (const name of names) this.#versions.delete(name);
    this.#change();
  }

  /** Sets the `delete_at` of secrets, in milliseconds since the epoch; the test deletes them. */
  schedule(deleteAt: number, ...names: readonly string[]): void {
    for (const name of names) this.#deleteAt.set(name, deleteAt);
    this.#change();
  }

  /** Returns once when a list first showed this value of a secret, in monotonic milliseconds. */
  takeListedAt(name: string, value: string): number | undefined {
    const shownAt = this.#shownAt.get(value);
    if (value === `${name}@${this.#versions.get(name)}`) this.#shownAt.delete(value);
    return shownAt;
  }

  /** Breaks the connection of every request, now and later, or ends that. */
  setDown(isDown: boolean): void {
    this.#isDown = isDown;
    this.#endHeld();
  }

  async request(request: VaultRequest): Promise<VaultResponse> {
    const { operation, deadlineMs, signal, waitSeconds = 0 } = request;
    this.requestedAt.push(this.#clock.monotonic());
    const throttled = this.#throttle(operation);
    if (throttled !== undefined) return throttled;
    if (operation === "list_no_dup") this.listedAt.push(this.#clock.monotonic());
    await this.#clock.sleep(Math.min(this.latencyMs, deadlineMs), signal);
    if (this.latencyMs > deadlineMs) throw new TransientError(operation, "timeout");
    const isHeld = this.holds && waitSeconds > 0;
    if (isHeld && !this.#isDown && request.ifNoneMatch === this.#etag) {
      const { afterMs = Infinity, end } = this.proxy ?? {};
      await this.#hold(Math.min(waitSeconds * 1_000, afterMs), signal);
      if (
        end !== undefined &&
        afterMs < waitSeconds * 1_000 &&
        request.ifNoneMatch === this.#etag &&
        !this.#isDown
      )
        return end(operation);
    }
    if (this.#isDown) throw new TransientError(operation, "reset");
    return this.#respond(request, isHeld ? { "preference-applied": "wait" } : {});
  }

  updateCa(): void {
    // There is no TLS.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Requests end with their signals.
  }

  #throttle(operation: string): VaultResponse | undefined {
    const now = this.#clock.monotonic();
    const at = Math.floor(now / 1_000);
    if (this.#second.at !== at) this.#second = { at, admitted: 0 };
    if (this.#second.admitted >= this.requestsPerSecond)
      return response(429, {}, { "retry-after": "1" });
    this.#second.admitted += 1;
    this.requests.set(operation, (this.requests.get(operation) ?? 0) + 1);
    return undefined;
  }

  get #etag(): string {
    return `"${this.#revision}"`;
  }

  #change(): void {
    this.#revision += 1;
    this.#endHeld();
  }

  #endHeld(): void {
    this.#held.abort();
    this.#held = new AbortController();
  }

  async #hold(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock
      .sleep(ms, AbortSignal.any([signal, this.#held.signal]))
      .catch(() => signal.throwIfAborted());
  }

  #respond(
    { operation, ifNoneMatch, body }: VaultRequest,
    applied: Readonly<Record<string, string>>,
  ): VaultResponse {
    const name = "key_name" in body && typeof body.key_name === "string" ? body.key_name : "";
    const version = this.#versions.get(name);
    const etag = this.#etag;
    switch (operation) {
      case "generate_access_token":
      case "refresh_token":
        return response(200, {
          access_token: `token-${this.#clock.monotonic()}`,
          refresh_token: "refresh",
          expires_in: 86_400,
        });
      case "list_no_dup":
        if (this.listBody !== undefined) return response(200, this.listBody);
        return ifNoneMatch === etag
          ? response(304, {}, applied)
          : response(200, { secrets: this.#records() }, { etag, ...applied });
      case "version_expose":
      case "expose":
        if (this.unreadable.has(name)) return response(500);
        return version === undefined
          ? response(404)
          : response(200, { key_value: `${name}@${version}`, key_version: version });
      default:
        return response(404);
    }
  }

  #records(): object[] {
    return [...this.#versions].map(([key_name, key_version]) => {
      const value = `${key_name}@${key_version}`;
      if (!this.#shownAt.has(value)) this.#shownAt.set(value, this.#clock.monotonic());
      const deleteAt = this.#deleteAt.get(key_name);
      return {
        key_name,
        key_version,
        shared: false,
        ...(deleteAt !== undefined && { delete_at: deleteAt }),
      };
    });
  }
}

function response(
  status: number,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): VaultResponse {
  const all = new Map(Object.entries(headers));
  return {
    status,
    body: new TextEncoder().encode(JSON.stringify(body)),
    header: (name) => all.get(name),
  };
}

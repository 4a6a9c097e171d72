import type { Clock } from "../../../src/lib/clock.ts";
import type { VaultRequest } from "../../../src/operator/vault-client/http/vault-transport.ts";
import { TransientError } from "../../../src/operator/vault-client/vault-error.ts";
import {
  type CuttingProxy,
  InMemoryTransport,
  type VaultNetwork,
} from "./vault/in-memory-transport.ts";
import { type InMemoryResponse, InMemoryVault } from "./vault/in-memory-vault.ts";

/** The account of a test, and its password. */
export const ACCOUNT = "ops@example.com";
export const PASSWORD = "canary-password";

/** A request that the vault did not reject with 429. */
export interface VaultCall {
  /** Monotonic time of its arrival. */
  readonly at: number;
  readonly operation: VaultRequest["operation"];
  /** The account that it was sent for. */
  readonly account: string;
  /** Name of the secret or file, if it is about one. */
  readonly name: string | undefined;
  /** Password of a login. */
  readonly password: string | undefined;
}

/**
 * An in-memory vault, the faults between it and the operator, and a record of what arrives. It has
 * the account {@link ACCOUNT}, whose secrets `write` gives the values `<name>@<version>`.
 */
export class SimulatedVault extends InMemoryVault {
  /** Time from a request to its response in milliseconds. */
  latencyMs = 10;
  /**
   * Maximum number of requests per second of the clock; others are rejected with 429 until the next
   * second.
   */
  requestsPerSecond = Infinity;
  /** Holds conditional lists until the list changes (RFC 7240, `Prefer: wait`). */
  holds = false;
  /** Names whose values cannot be read: the vault responds with 500. */
  readonly unreadable = new Set<string>();
  /** The body of each response to a list, as of a gateway that responds in place of the vault. */
  listBody: object | undefined;
  /** A proxy that ends the lists that the vault holds. */
  proxy: CuttingProxy | undefined;
  /** Further faults, after the latency and before the vault. */
  network: VaultNetwork = {};
  readonly calls: VaultCall[] = [];
  /** Time of each list request in monotonic milliseconds. */
  readonly listedAt: number[] = [];
  readonly #clock: Clock;
  readonly #transports = new Set<InMemoryTransport>();
  readonly #versions = new Map<string, number>();
  /** Values that no list has shown yet, and the time of the first list that showed each value. */
  readonly #unshown = new Set<string>();
  readonly #shownAt = new Map<string, number>();
  #isDown = false;
  /** The current second of the clock, and the requests that were admitted in it. */
  #second = { at: 0, admitted: 0 };

  constructor(clock: Clock) {
    super(clock);
    this.#clock = clock;
    this.setPassword(ACCOUNT, PASSWORD);
  }

  /** Opens a connection of the operator to this vault. */
  open(): InMemoryTransport {
    const transport = new InMemoryTransport({
      vault: this,
      clock: this.#clock,
      holdsLists: () => this.holds,
      proxy: () => this.proxy,
      network: {
        send: (request, signal) => this.#receive(request, signal),
        respond: (request, response, signal) => this.#respond(request, response, signal),
      },
    });
    this.#transports.add(transport);
    return transport;
  }

  /** Creates secrets, or a new version of existing secrets. */
  write(...names: readonly string[]): void {
    for (const name of names) {
      const version = (this.#versions.get(name) ?? 0) + 1;
      this.#versions.set(name, version);
      const key_value = `${name}@${version}`;
      this.act(ACCOUNT, "protect", { key_name: name, key_value });
      this.#unshown.add(key_value);
    }
  }

  /** Deletes secrets. */
  remove(...names: readonly string[]): void {
    for (const name of names) {
      this.#versions.delete(name);
      this.act(ACCOUNT, "delete", { key_name: name });
    }
  }

  /** Sets the `delete_at` of secrets, in milliseconds since the epoch: the vault removes them then. */
  schedule(deleteAt: number, ...names: readonly string[]): void {
    for (const name of names) {
      this.#versions.delete(name);
      this.setDeadline(ACCOUNT, name, deleteAt);
    }
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
    if (isDown) for (const transport of this.#transports) transport.reset();
  }

  async #receive(
    request: VaultRequest,
    signal: AbortSignal,
  ): Promise<InMemoryResponse | undefined> {
    const { operation } = request;
    if (!this.#admits()) return json(429, {}, { "retry-after": "1" });
    const call = callOf(request, this.#clock.monotonic());
    this.calls.push(call);
    if (operation === "list_no_dup") this.listedAt.push(call.at);
    if (this.latencyMs > 0) await this.#clock.sleep(this.latencyMs, signal);
    if (this.#isDown) throw new TransientError(operation, "reset");
    if (operation.includes("expose") && this.unreadable.has(call.name ?? "")) return json(500);
    if (operation === "list_no_dup" && this.listBody !== undefined) return json(200, this.listBody);
    return this.network.send?.(request, signal);
  }

  async #respond(
    request: VaultRequest,
    response: InMemoryResponse,
    signal: AbortSignal,
  ): Promise<InMemoryResponse> {
    if (request.operation === "list_no_dup" && response.status === 200) {
      for (const value of this.#unshown) this.#shownAt.set(value, this.#clock.monotonic());
      this.#unshown.clear();
    }
    return (await this.network.respond?.(request, response, signal)) ?? response;
  }

  #admits(): boolean {
    const at = Math.floor(this.#clock.monotonic() / 1_000);
    if (this.#second.at !== at) this.#second = { at, admitted: 0 };
    if (this.#second.admitted >= this.requestsPerSecond) return false;
    this.#second.admitted += 1;
    return true;
  }
}

function callOf({ operation, body }: VaultRequest, at: number): VaultCall {
  const fields = new Map(Object.entries(body));
  const text = (field: string): string | undefined => {
    const value: unknown = fields.get(field);
    return typeof value === "string" ? value : undefined;
  };
  const name = text("key_name") ?? text("filename");
  return { at, operation, account: text("email") ?? "", name, password: text("password") };
}

function json(
  status: number,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): InMemoryResponse {
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

import type { Clock } from "../../../src/lib/clock.ts";
import { defaultMetadata } from "../../../src/protocol/metadata.ts";
import type { VaultRequest } from "../../../src/operator/vault-client/http/vault-transport.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { TransientError } from "../../../src/operator/vault-client/vault-error.ts";
import {
  type CuttingProxy,
  InMemoryTransport,
  type VaultNetwork,
} from "./vault/in-memory-transport.ts";
import { type InMemoryResponse, InMemoryVault } from "./vault/in-memory-vault.ts";

/** The account of a test, and its password. */
export const ACCOUNT = "ops@example.com";
/** Another user. */
export const OTHER = "ann@example.com";
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
  /** The list is requested immediately, not when it changes. */
  readonly isPoll: boolean;
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
  /** Replaces a value or the version of a response, or throws a VaultError. */
  expose: (
    name: string,
    version: number,
  ) => { readonly value?: string; readonly version?: number } = () => ({});
  /** Reads of values so far, each as `<name>@<version>`. */
  readonly reads: string[] = [];
  readonly calls: VaultCall[] = [];
  /** Time of each list request in monotonic milliseconds. */
  readonly listedAt: number[] = [];
  readonly #clock: Clock;
  readonly #transports = new Set<InMemoryTransport>();
  readonly #versions = new Map<string, number>();
  /** Values that no list has shown yet, and the time of the first list that showed each value. */
  readonly #unshown = new Set<string>();
  readonly #shownAt = new Map<string, number>();
  #written = 0;
  #isDown = false;
  /** The current second of the clock, and the requests that were admitted in it. */
  #second = { at: 0, admitted: 0 };

  /** Creation time of all versions that {@link lists} and {@link uploads} add. */
  readonly #createdAt: number;
  readonly #name: string;

  constructor(clock: Clock, name = "vault") {
    super(clock);
    this.#clock = clock;
    this.#createdAt = clock.now();
    this.#name = name;
    this.audience = `https://${name}.example.com`;
    this.setPassword(ACCOUNT, PASSWORD);
  }

  /** Number of lists that were requested immediately, not when they change. */
  get polls(): number {
    return this.calls.filter(({ isPoll }) => isPoll).length;
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

  /** Writes new versions of secrets of an account, with the values `<account> <name> <number>`. */
  writeAs(email: string, names: readonly string[], more: object = {}): void {
    for (const key_name of names) {
      this.#written += 1;
      const key_value = `${email} ${key_name} ${this.#written}`;
      this.act(email, "protect", { key_name, key_value, ...more });
    }
  }

  /** Returns the reads since the last call, each as `<account> <name>`. */
  takeReads(): string[] {
    const reads = this.calls.splice(0).filter(({ name }) => name !== undefined);
    return reads.map(({ account, name }) => `${account} ${name}`);
  }

  /**
   * Replaces all secrets by these, whose versions have the values `<vault> <name>@<version>`. A
   * secret of another owner is shared with {@link ACCOUNT}.
   */
  lists(...secrets: readonly Partial<SecretRecord>[]): void {
    const stored = secrets.map((secret) => this.#storedSecret(secret));
    const { files } = this.backup();
    this.restore({
      files,
      secrets: new Map(stored.map((one) => [`${one.owner}\n${one.name}`, one])),
    });
  }

  /** Replaces all secrets by these, each with this value at this version. */
  serves(values: Readonly<Record<string, string>>, version = 1): void {
    this.expose = (name) => ({ value: values[name] ?? "" });
    this.lists(...Object.keys(values).map((name) => ({ name, version })));
  }

  /** Replaces all files by the first version of these. */
  uploads(...filenames: readonly string[]): void {
    const { secrets } = this.backup();
    const files = filenames.map((filename) => {
      const bytes = Buffer.from(`${this.#name} ${filename}@1`);
      const versions = [{ version: 1, bytes, createdAt: this.#createdAt }];
      return [`${ACCOUNT}\n${filename}`, { versions, lastVersion: 1 }] as const;
    });
    this.restore({ secrets, files: new Map(files) });
  }

  #storedSecret(secret: Partial<SecretRecord>) {
    const { name = "a", version = 1, owner = ACCOUNT, shared, metadata, ...rest } = secret;
    const shares = owner !== ACCOUNT ? [[ACCOUNT, "R"]] : shared ? [[OTHER, "R"]] : [];
    return {
      name,
      owner,
      versions: Array.from({ length: version }, (_, at) => ({
        version: at + 1,
        value: `${this.#name} ${name}@${at + 1}`,
        metadata: { ...defaultMetadata, expiration_time: 10_000, ...metadata },
        createdAt: rest.createdAt ?? this.#createdAt,
      })),
      shares: new Map(shares as [string, "R"][]),
      lastVersion: version,
      deleteMinutes: 525_600_000,
      deleteAt: rest.deleteAt ?? this.#createdAt + 525_600_000 * 60_000,
    };
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
    const served = response.status === 200 ? this.#exposed(request, response) : response;
    return (await this.network.respond?.(request, served, signal)) ?? served;
  }

  /** Returns the response to a read, with what {@link expose} replaces. */
  #exposed({ operation, body: asked }: VaultRequest, response: InMemoryResponse): InMemoryResponse {
    const isFile = operation === "download_file";
    if (!isFile && !operation.includes("expose")) return response;
    const name = String(
      Object.entries(asked).find(([field]) => /^(?:key_|file)name$/.test(field))?.[1],
    );
    const body = isFile ? {} : JSON.parse(Buffer.from(response.body).toString());
    const version = isFile ? Number(response.headers["x-file-version"]) : body.key_version;
    this.reads.push(`${name}@${version}`);
    const changed = this.expose(name, version);
    const { version: actual = version, value = `${this.#name} ${name}@${actual}` } = changed;
    if (changed.value === undefined && changed.version === undefined) return response;
    return json(200, { ...body, key_value: value, key_version: actual });
  }

  #admits(): boolean {
    const at = Math.floor(this.#clock.monotonic() / 1_000);
    if (this.#second.at !== at) this.#second = { at, admitted: 0 };
    if (this.#second.admitted >= this.requestsPerSecond) return false;
    this.#second.admitted += 1;
    return true;
  }
}

function callOf({ operation, body, waitSeconds = 0 }: VaultRequest, at: number): VaultCall {
  const fields = new Map(Object.entries(body));
  const text = (field: string): string | undefined => {
    const value: unknown = fields.get(field);
    return typeof value === "string" ? value : undefined;
  };
  const name = text("key_name") ?? text("filename");
  const isPoll = operation === "list_no_dup" && waitSeconds === 0;
  return { at, operation, account: text("email") ?? "", name, isPoll, password: text("password") };
}

function json(
  status: number,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): InMemoryResponse {
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

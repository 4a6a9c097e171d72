import type { TokenManager } from "./auth/token-manager.ts";
import type {
  Connection,
  FileContent,
  FileRecord,
  Health,
  References,
  SecretRecord,
  SecretValue,
  Snapshot,
} from "./connection.ts";
import type { VaultTransport } from "./http/vault-transport.ts";
import type { HealthMonitor } from "./mirror/health-monitor.ts";
import type { Mirror } from "./mirror/mirror.ts";
import type { ValueFetcher } from "./values/value-fetcher.ts";

export interface VaultConnectionClientOptions {
  readonly transport: VaultTransport;
  readonly tokens: TokenManager;
  readonly mirror: Mirror;
  readonly values: ValueFetcher;
  readonly health: HealthMonitor;
}

/** A connection made of its parts, which it owns: it polls the list from its construction until it is disposed. */
export class VaultConnectionClient implements Connection {
  readonly #transport: VaultTransport;
  readonly #tokens: TokenManager;
  readonly #mirror: Mirror;
  readonly #values: ValueFetcher;
  readonly #health: HealthMonitor;

  constructor({ transport, tokens, mirror, values, health }: VaultConnectionClientOptions) {
    this.#transport = transport;
    this.#tokens = tokens;
    this.#mirror = mirror;
    this.#values = values;
    this.#health = health;
  }

  get snapshot(): Snapshot | undefined {
    return this.#mirror.snapshot;
  }

  get health(): Health {
    return this.#health.health;
  }

  get token(): Connection["token"] {
    return this.#tokens.current;
  }

  get loginPause(): Connection["loginPause"] {
    return this.#tokens.pause;
  }

  setReferences(references: References): void {
    this.#mirror.setReferences(references);
  }

  pollSoon(): void {
    this.#mirror.soon();
  }

  credentialsChanged(): void {
    this.#tokens.credentialsChanged();
    this.#mirror.retryNow();
  }

  updateCa(ca: string | undefined): void {
    this.#transport.updateCa(ca);
    this.#mirror.retryNow();
  }

  secretValue(record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue> {
    return this.#values.secret(record, version, signal);
  }

  fileContent(record: FileRecord, version: number, signal: AbortSignal): Promise<FileContent> {
    return this.#values.file(record, version, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#values[Symbol.dispose]();
    await this.#mirror[Symbol.asyncDispose]();
    await this.#transport[Symbol.asyncDispose]();
  }
}

import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { TokenManager } from "./auth/token-manager.ts";
import type { Connection, FileContent, FileRecord, Health, SecretRecord, SecretValue, Snapshot } from "./connection.ts";
import type { VaultTransport } from "./http/vault-transport.ts";
import type { HealthMonitor } from "./mirror/health-monitor.ts";
import type { Mirror } from "./mirror/mirror.ts";
import { Poller } from "./mirror/poller.ts";
import type { ValueFetcher } from "./values/value-fetcher.ts";

export interface VaultConnectionClientOptions {
  readonly transport: VaultTransport;
  readonly tokens: TokenManager;
  readonly mirror: Mirror;
  readonly values: ValueFetcher;
  readonly health: HealthMonitor;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
}

/** A connection made of its parts, which it owns: it polls the list from its construction until it is disposed. */
export class VaultConnectionClient implements Connection {
  readonly #transport: VaultTransport;
  readonly #tokens: TokenManager;
  readonly #mirror: Mirror;
  readonly #values: ValueFetcher;
  readonly #health: HealthMonitor;
  readonly #poller: Poller;

  constructor({ transport, tokens, mirror, values, health, clock, random, intervalMs }: VaultConnectionClientOptions) {
    this.#transport = transport;
    this.#tokens = tokens;
    this.#mirror = mirror;
    this.#values = values;
    this.#health = health;
    this.#poller = new Poller({ clock, random, intervalMs, poll: (signal) => this.#poll(signal) });
    this.#poller.soon();
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

  listFiles(enabled: boolean): void {
    if (enabled === this.#mirror.filesEnabled) return;
    this.#mirror.filesEnabled = enabled;
    if (enabled) this.pollSoon();
  }

  pollSoon(): void {
    this.#poller.soon();
  }

  credentialsChanged(): void {
    this.#tokens.credentialsChanged();
    this.pollSoon();
  }

  updateCa(ca: string | undefined): void {
    this.#transport.updateCa(ca);
    this.pollSoon();
  }

  secretValue(record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue> {
    return this.#values.secret(record, version, signal);
  }

  fileContent(record: FileRecord, version: number, signal: AbortSignal): Promise<FileContent> {
    return this.#values.file(record, version, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#values[Symbol.dispose]();
    await this.#poller[Symbol.asyncDispose]();
    await this.#transport[Symbol.asyncDispose]();
  }

  async #poll(signal: AbortSignal): Promise<number | undefined> {
    try {
      const { dueInMs, filesFailure } = await this.#mirror.list(signal);
      if (filesFailure) this.#health.failed(filesFailure);
      else this.#health.succeeded();
      return dueInMs;
    } catch (error) {
      if (!signal.aborted) this.#health.failed(error instanceof Error ? error : new Error("not an error", { cause: error }));
      throw error;
    }
  }
}

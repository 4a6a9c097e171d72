import type { Clock, Timer } from "../../lib/clock.ts";
import type { TokenManager } from "./auth/token-manager.ts";
import type {
  Connection,
  Consumer,
  EntryAddress,
  EntryKind,
  EntryReader,
  EntryWrite,
  FileRecord,
  Health,
  LatestVersion,
  References,
  SecretRecord,
  Snapshot,
  WriteGuard,
  WrittenVersion,
} from "./connection.ts";
import type { VaultTransport } from "./http/vault-transport.ts";
import type { HealthMonitor } from "./mirror/health-monitor.ts";
import type { Mirror } from "./mirror/mirror.ts";
import type { VaultValues } from "./values/vault-values.ts";
import type { VaultWrites } from "./writes/vault-writes.ts";

export interface VaultConnectionClientOptions {
  readonly transport: VaultTransport;
  readonly tokens: TokenManager;
  readonly mirror: Mirror;
  readonly values: VaultValues;
  readonly writes: VaultWrites;
  readonly health: HealthMonitor;
  readonly clock: Clock;
  /** Counts the connection at the gate of all lists. */
  readonly registration: Disposable;
}

/**
 * A connection made of parts, and their owner. Polls the list from its construction until it is
 * disposed.
 */
export class VaultConnectionClient implements Connection {
  readonly #transport: VaultTransport;
  readonly #tokens: TokenManager;
  readonly #mirror: Mirror;
  readonly #values: VaultValues;
  readonly #writes: VaultWrites;
  readonly #health: HealthMonitor;
  readonly #clock: Clock;
  readonly #registration: Disposable;
  #references: References = { secrets: new Set(), files: new Set() };
  /** Lists when a login for new names is due. */
  #namesTimer: Timer | undefined;

  constructor({
    transport,
    tokens,
    mirror,
    values,
    writes,
    health,
    clock,
    registration,
  }: VaultConnectionClientOptions) {
    this.#clock = clock;
    this.#registration = registration;
    this.#transport = transport;
    this.#tokens = tokens;
    this.#mirror = mirror;
    this.#values = values;
    this.#writes = writes;
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
    this.#references = references;
    const inMs = this.#tokens.setNames(references.secrets);
    this.tokenChanged();
    if (inMs === undefined) return;
    this.#namesTimer?.[Symbol.dispose]();
    this.#namesTimer = this.#clock.timer(inMs, () => this.#mirror.soon());
  }

  /** Lets the mirror follow the names that the token can read, and reports why it lacks others. */
  tokenChanged(): void {
    const { secrets, files } = this.#references;
    this.#mirror.setReferences({ secrets: this.#tokens.readable(secrets), files });
    const failure = this.#tokens.scopeFailure;
    if (failure) this.#health.failed("generate_access_token", failure);
    else this.#health.stopped("generate_access_token");
  }

  pollSoon(): void {
    this.#mirror.soon();
  }

  listAgain(kind: EntryKind, signal: AbortSignal): Promise<void> {
    return this.#mirror.listKind(kind, signal);
  }

  credentialsChanged(): void {
    this.#tokens.credentialsChanged();
    this.#mirror.retryNow();
  }

  updateCa(ca: string | undefined): void {
    this.#transport.updateCa(ca);
    this.#mirror.retryNow();
  }

  reader(record: SecretRecord | FileRecord, consumer: Consumer): EntryReader {
    return this.#values.reader(record, consumer);
  }

  latest(entry: EntryAddress, signal: AbortSignal): Promise<LatestVersion | undefined> {
    return this.#writes.latest(entry, signal);
  }

  write(entry: EntryWrite, signal: AbortSignal): Promise<WrittenVersion> {
    return this.#writes.write(entry, signal);
  }

  remove(
    kind: EntryKind,
    name: string,
    guard: WriteGuard | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#writes.remove(kind, name, guard, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#namesTimer?.[Symbol.dispose]();
    this.#registration[Symbol.dispose]();
    this.#values[Symbol.dispose]();
    await this.#mirror[Symbol.asyncDispose]();
    await this.#transport[Symbol.asyncDispose]();
  }
}

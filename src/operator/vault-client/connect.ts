import { formatScope } from "../../protocol/format-scope.ts";
import { CircuitBreaker } from "./http/circuit-breaker.ts";
import type {
  Connection,
  FileContent,
  FileRecord,
  Health,
  SecretRecord,
  SecretValue,
  Snapshot,
  SnapshotChange,
} from "./connection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { VaultHttp } from "./http/vault-http.ts";
import { HealthMonitor } from "./mirror/health-monitor.ts";
import { Mirror } from "./mirror/mirror.ts";
import { silentObserver } from "./observer.ts";
import { Poller } from "./mirror/poller.ts";
import { RateLimiter } from "./http/rate-limiter.ts";
import { SecretReader } from "./values/secret-reader.ts";
import { TokenManager } from "./auth/token-manager.ts";
import { TokenOperations } from "./auth/token-operations.ts";
import { VaultTransport } from "./http/vault-transport.ts";
import { ValueFetcher } from "./values/value-fetcher.ts";
import { VaultApi } from "./vault-api.ts";

/**
 * Opens a connection: it logs in and lists at once, in the background. Never throws for a vault that cannot be reached or an address
 * that may not be: that is its health.
 * @throws RangeError when the scope admits nothing
 */
export function connect(options: ConnectionOptions): Connection {
  return new VaultConnectionClient(options);
}

class VaultConnectionClient implements Connection {
  readonly #transport: VaultTransport;
  readonly #tokens: TokenManager;
  readonly #mirror: Mirror;
  readonly #poller: Poller;
  readonly #health: HealthMonitor;
  readonly #values: ValueFetcher;

  constructor(options: ConnectionOptions) {
    const { clock, random, email, timeoutMs, refreshIntervalMs: intervalMs, observer = silentObserver } = options;
    const { transport, http } = openHttp(options, observer);
    this.#transport = transport;
    this.#tokens = tokenManager(options, http);
    const api = new VaultApi({ http, tokens: this.#tokens, email, timeoutMs, clock });
    const reader = new SecretReader({ api, email, snapshot: () => this.#mirror.snapshot });
    this.#values = new ValueFetcher({ api, reader, cache: options.valueCache, observer });
    const onMadeAnew = (names: SnapshotChange): void => this.#values.forget(names);
    this.#mirror = new Mirror({ api, clock, random, intervalMs, onMadeAnew, onChange: options.onChange });
    this.#health = new HealthMonitor(clock, options.onHealth);
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

  listFiles(wanted: boolean): void {
    if (wanted === this.#mirror.filesWanted) return;
    this.#mirror.filesWanted = wanted;
    if (wanted) this.pollSoon();
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

function openHttp(
  options: ConnectionOptions,
  observer: NonNullable<ConnectionOptions["observer"]>,
): { transport: VaultTransport; http: VaultHttp } {
  const { url, clock, random, ca, allowHttp, allowedHosts, requestsPerSecond, logger } = options;
  const transport = new VaultTransport({ url, clock, ca, policy: { allowHttp, allowedHosts } });
  const breaker = new CircuitBreaker(clock, random, (open) => {
    if (open) logger.warn({}, "the vault fails again and again, calls are held back");
    else logger.info({}, "the vault answers again");
    observer.circuit(open);
  });
  const http = new VaultHttp({ transport, breaker, limiter: new RateLimiter(requestsPerSecond, clock), clock, observer });
  return { transport, http };
}

function tokenManager(options: ConnectionOptions, http: VaultHttp): TokenManager {
  const { credentials, email, timeoutMs, tokenLifetimeMs: lifetimeMs, clock, random, logger } = options;
  const scope = formatScope(options.scope);
  const operations = new TokenOperations({ http, email, scope, lifetimeMs, timeoutMs });
  return new TokenManager({ operations, credentials, scope, lifetimeMs, clock, random, logger });
}

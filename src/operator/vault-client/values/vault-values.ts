import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import { SingleFlight } from "../single-flight.ts";
import type {
  Consumer,
  EntryBytes,
  EntryReader,
  FileRecord,
  SecretRecord,
  Snapshot,
  SnapshotChange,
} from "../connection.ts";
import type { VaultObserver } from "../observer.ts";
import type { ValueReader, VaultApi } from "../vault-api.ts";
import { PermanentError, UnexpectedResponse } from "../vault-error.ts";
import { EntryBackoff } from "./entry-backoff.ts";
import { alternatives, ExposeRoutes, isSameRoute } from "./expose-routes.ts";
import type { CacheKey, ValueCache } from "./value-cache.ts";

export interface VaultValuesOptions {
  readonly api: Pick<VaultApi, "expose" | "download">;
  /** Email address of the connection's account. */
  readonly email: string;
  readonly cache: ValueCache;
  readonly snapshot: () => Snapshot | undefined;
  /** Returns a snapshot whose list is requested after this call. @throws the error of that list */
  readonly listAgain: (signal: AbortSignal) => Promise<Snapshot | undefined>;
  readonly observer: VaultObserver;
  readonly clock: Clock;
  readonly random: Random;
}

interface Fetched extends EntryBytes {
  /** The version of the bytes is certain for every later reader. */
  readonly cacheable: boolean;
}

/**
 * Reads bytes from the cache or the vault. Concurrent readers of one version share one request: the
 * first one is its consumer.
 */
export class VaultValues implements Disposable {
  readonly #options: VaultValuesOptions;
  readonly #connection: number;
  readonly #routes: ExposeRoutes;
  readonly #backoff: EntryBackoff;
  readonly #flights = new SingleFlight<Fetched>();
  readonly #closing = new AbortController();
  /**
   * Incremented when names were recreated: bytes whose request started before may be outdated and
   * are not cached.
   */
  #revision = 0;

  constructor(options: VaultValuesOptions) {
    this.#options = options;
    this.#routes = new ExposeRoutes(options.email);
    this.#backoff = new EntryBackoff(options.clock, options.random);
    this.#connection = options.cache.newConnection();
  }

  reader(record: SecretRecord | FileRecord, consumer: Consumer): EntryReader {
    const connection = this.#connection;
    if ("filename" in record) {
      const entry = { connection, kind: "file", name: record.filename, owner: undefined } as const;
      return (version, signal) =>
        this.#read({ ...entry, version }, signal, (shared) =>
          this.#download(record, version, { consumer, signal: shared }),
        );
    }
    const entry = { connection, kind: "secret", name: record.name, owner: record.owner } as const;
    return (version, signal) =>
      this.#read({ ...entry, version }, signal, (shared) =>
        this.#expose(record, version, { consumer, signal: shared }),
      );
  }

  /**
   * Ends the delays of names that changed in the list, and forgets the bytes and routes of those
   * that were recreated.
   */
  changed(names: SnapshotChange, recreated: SnapshotChange): void {
    this.#backoff.forget(names.secrets);
    this.#backoff.forget(names.files);
    const { secrets, files } = recreated;
    if (secrets.size === 0 && files.size === 0) return;
    this.#revision += 1;
    this.#routes.forget(secrets);
    this.#options.cache.forget(
      ({ connection, kind, name }) =>
        connection === this.#connection && (kind === "secret" ? secrets : files).has(name),
    );
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#options.cache.forget(({ connection }) => connection === this.#connection);
  }

  async #read(
    key: CacheKey,
    signal: AbortSignal,
    fetch: (signal: AbortSignal) => Promise<Fetched>,
  ): Promise<EntryBytes> {
    const { cache, observer } = this.#options;
    const signals = [signal, this.#closing.signal];
    for (const each of signals) each.throwIfAborted();
    const cached = cache.get(key);
    observer.valueCacheRead(cached !== undefined);
    if (cached) return { bytes: cached, version: key.version };
    const entry = JSON.stringify([key.kind, key.name, key.owner ?? null, key.version]);
    this.#backoff.check(entry);
    const revision = this.#revision;
    const { bytes, version } = await this.#flights.run(
      `${entry} ${revision}`,
      signals,
      async (shared) => {
        try {
          const fetched = await fetch(shared);
          this.#backoff.succeeded(entry);
          if (fetched.cacheable && revision === this.#revision)
            cache.set({ ...key, version: fetched.version }, fetched.bytes);
          return fetched;
        } catch (error) {
          this.#backoff.failed(entry, key.name, error);
          throw error;
        }
      },
    );
    return { bytes, version };
  }

  async #download(record: FileRecord, version: number, reader: ValueReader): Promise<Fetched> {
    return { ...(await this.#options.api.download(record, version, reader)), cacheable: true };
  }

  /** Tries routes until one works. @throws the VaultError of the first route when none does */
  async #expose(record: SecretRecord, version: number, reader: ValueReader): Promise<Fetched> {
    const { api, snapshot } = this.#options;
    const isAmbiguous = (snapshot()?.secrets(record.name).length ?? 0) > 1;
    const routes = [this.#routes.first(record, version, isAmbiguous)];
    const failures: PermanentError[] = [];
    for (const route of routes) {
      try {
        const { labeled, ...value } = await api.expose(route, record, version, reader);
        if (route !== routes[0]) this.#routes.worked(record, route);
        const cacheable = labeled || route.exact;
        if (!cacheable) await this.#confirm(record, version, reader.signal);
        return { ...value, cacheable };
      } catch (error) {
        if (!(error instanceof PermanentError)) throw error;
        failures.push(error);
        const others = alternatives(route, record, version, error.code);
        routes.push(
          ...others.filter((other) => !routes.some((known) => isSameRoute(known, other))),
        );
      }
    }
    throw failures[0] ?? new PermanentError("expose", "secret_not_found");
  }

  /**
   * The latest value without its version may be newer than the list. It is the listed version if a
   * later list still shows it.
   * @throws UnexpectedResponse when the list shows another version
   */
  async #confirm(record: SecretRecord, version: number, signal: AbortSignal): Promise<void> {
    const records = (await this.#options.listAgain(signal))?.secrets(record.name) ?? [];
    const now = records.find(({ owner }) => owner === record.owner);
    if (now?.version !== version || now.createdAt !== record.createdAt)
      throw new UnexpectedResponse("expose", "key_version");
  }
}

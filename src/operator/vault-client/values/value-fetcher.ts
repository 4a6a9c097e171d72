import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { FileContent, FileRecord, SecretRecord, SecretValue, SnapshotChange } from "../connection.ts";
import type { VaultObserver } from "../observer.ts";
import { EntryBackoff } from "./entry-backoff.ts";
import type { SecretReader } from "./secret-reader.ts";
import { SingleFlight } from "../../../lib/single-flight.ts";
import type { CacheKey, ValueCache } from "./value-cache.ts";
import type { VaultApi } from "../vault-api.ts";

export interface ValueFetcherOptions {
  readonly api: VaultApi;
  readonly reader: SecretReader;
  readonly cache: ValueCache;
  readonly observer: VaultObserver;
  readonly clock: Clock;
  readonly random: Random;
}

interface Fetched {
  readonly bytes: Redacted<Uint8Array>;
  readonly version: number;
  readonly cacheable: boolean;
}

/** Returns bytes from the cache or the vault. Concurrent callers of one version share one request. */
export class ValueFetcher implements Disposable {
  readonly #options: ValueFetcherOptions;
  readonly #connection: number;
  readonly #backoff: EntryBackoff;
  readonly #flights = new SingleFlight<Fetched>();
  readonly #closing = new AbortController();
  /** Incremented by `forget`: bytes whose request started before may be outdated and are not cached. */
  #revision = 0;

  constructor(options: ValueFetcherOptions) {
    this.#options = options;
    this.#backoff = new EntryBackoff(options.clock, options.random);
    this.#connection = options.cache.newConnection();
  }

  /** @throws a VaultError, or the reason of `signal` */
  async secret(record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue> {
    const key: CacheKey = { connection: this.#connection, kind: "secret", name: record.name, owner: record.owner, version };
    const { bytes, version: fetchedVersion } = await this.#get(key, signal, async (shared) => {
      const fetched = await this.#options.reader.read(record, version, shared);
      return { bytes: fetched.value, version: fetched.version, cacheable: fetched.cacheable };
    });
    return { value: bytes, version: fetchedVersion };
  }

  /** @throws a VaultError, or the reason of `signal` */
  async file(record: FileRecord, version: number, signal: AbortSignal): Promise<FileContent> {
    const key: CacheKey = { connection: this.#connection, kind: "file", name: record.filename, owner: undefined, version };
    const { bytes, version: fetchedVersion } = await this.#get(key, signal, async (shared) => {
      return { ...(await this.#options.api.download(record, version, shared)), cacheable: true };
    });
    return { bytes, version: fetchedVersion };
  }

  /** Ends the delays of names that changed in the list. */
  changed({ secrets, files }: SnapshotChange): void {
    this.#backoff.forget(secrets);
    this.#backoff.forget(files);
  }

  /** Forgets the bytes and routes of these names. */
  forget({ secrets, files }: SnapshotChange): void {
    if (secrets.size === 0 && files.size === 0) return;
    this.#revision += 1;
    this.#options.reader.forget(secrets);
    this.#options.cache.forget(
      ({ connection, kind, name }) => connection === this.#connection && (kind === "secret" ? secrets : files).has(name),
    );
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#options.cache.forget(({ connection }) => connection === this.#connection);
  }

  async #get(key: CacheKey, signal: AbortSignal, fetch: (signal: AbortSignal) => Promise<Fetched>): Promise<Fetched> {
    const { cache, observer } = this.#options;
    const either = AbortSignal.any([signal, this.#closing.signal]);
    either.throwIfAborted();
    const bytes = cache.get(key);
    observer.valueCacheRead(bytes !== undefined);
    if (bytes) return { bytes, version: key.version, cacheable: true };
    const entry = JSON.stringify([key.kind, key.name, key.owner ?? null, key.version]);
    this.#backoff.check(entry);
    const revision = this.#revision;
    return this.#flights.run(`${entry} ${revision}`, either, async (shared) => {
      try {
        const fetched = await fetch(shared);
        this.#backoff.succeeded(entry);
        if (fetched.cacheable && revision === this.#revision) cache.set({ ...key, version: fetched.version }, fetched.bytes);
        return fetched;
      } catch (error) {
        this.#backoff.failed(entry, key.name, error);
        throw error;
      }
    });
  }
}

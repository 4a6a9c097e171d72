import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import type { SnapshotChange } from "../connection.ts";
import { isVaultError } from "../vault-error.ts";
import { byFilename, byName, ListSnapshot, type FilesByName, type SecretsByName } from "./list-snapshot.ts";
import { changeBetween, recreatedNames } from "./snapshot-change.ts";
import type { Listing, VaultApi } from "../vault-api.ts";

/** Time in ms to wait after `deleteAt`, so that the list no longer contains the removed secret. */
const REMOVAL_MARGIN_MS = 20;

export interface MirrorOptions {
  readonly api: VaultApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** Called before `onChange` with names whose cached bytes are no longer valid. */
  readonly onRecreated: (names: SnapshotChange) => void;
  /** Called after the first list, and after each list that differs in a name or in whether files are listed. */
  readonly onChange: (change: SnapshotChange) => void;
}

/** A parsed list and the entity tag that revalidates it. */
interface CachedList<T> {
  readonly etag: string | undefined;
  readonly records: T;
}

/** Result of a list of the secrets and, if enabled, of the files. */
export interface ListOutcome {
  /** Time in ms until the next list, if it is due before the end of the interval. */
  readonly dueInMs: number | undefined;
  readonly filesFailure: Error | undefined;
}

/**
 * Keeps the latest complete list of a connection and reports its differences from the previous one. Each list creates a snapshot.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #removalRetry: Backoff;
  readonly #filesRetry: Backoff;
  #filesEnabled = false;
  #secrets: CachedList<SecretsByName> | undefined;
  #files: CachedList<FilesByName> | undefined;
  #snapshot: ListSnapshot | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#filesRetry = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
    this.#removalRetry = new Backoff({ baseMs: 1_000, maxMs: options.intervalMs }, options.random);
  }

  get snapshot(): ListSnapshot | undefined {
    return this.#snapshot;
  }

  /** Includes files in the next lists, or not. */
  set filesEnabled(enabled: boolean) {
    this.#filesEnabled = enabled;
  }

  get filesEnabled(): boolean {
    return this.#filesEnabled;
  }

  /**
   * Lists and replaces the snapshot as a whole. Secrets do not depend on files: if only the list of files fails, the previous
   * files are kept.
   * @throws the error of listing secrets
   */
  async list(signal: AbortSignal): Promise<ListOutcome> {
    const { api } = this.#options;
    this.#secrets = revalidated(await api.listSecrets(this.#secrets?.etag, signal), this.#secrets, byName);
    const filesFailure = await this.#listFiles(signal);
    if (this.#secrets) this.#publish(this.#secrets.records);
    const due = this.#untilRemoval();
    if (!filesFailure) return { dueInMs: due, filesFailure };
    return { dueInMs: Math.min(due ?? Number.POSITIVE_INFINITY, this.#filesRetry.next()), filesFailure };
  }

  /** Returns the failure, if any. @throws the signal's reason */
  async #listFiles(signal: AbortSignal): Promise<Error | undefined> {
    if (!this.#filesEnabled) {
      this.#files = undefined;
      return undefined;
    }
    try {
      this.#files = revalidated(await this.#options.api.listFiles(this.#files?.etag, signal), this.#files, byFilename);
      this.#filesRetry.reset();
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (isVaultError(error)) return error;
      throw error;
    }
  }

  #publish(secrets: SecretsByName): void {
    const { clock, onRecreated, onChange } = this.#options;
    const before = this.#snapshot;
    const origin = { sequence: (before?.sequence ?? 0) + 1, listedAt: clock.now(), listedAtMonotonic: clock.monotonic() };
    const after = new ListSnapshot(origin, secrets, this.#files?.records, before);
    const change = changeBetween(before, after);
    this.#snapshot = after;
    const filesToggled = (before?.fileCount === undefined) !== (after.fileCount === undefined);
    if (before && !filesToggled && change.secrets.size === 0 && change.files.size === 0) return;
    if (before) onRecreated(recreatedNames(before, after, change));
    onChange(change);
  }

  /** Returns the time in ms until the next `deleteAt`, or a backoff while a record outlives its own. */
  #untilRemoval(): number | undefined {
    const now = this.#options.clock.now();
    let [next, overdue] = [Number.POSITIVE_INFINITY, false];
    for (const records of this.#snapshot?.secretsByName.values() ?? []) {
      for (const { deleteAt } of records) {
        if (deleteAt === undefined) continue;
        if (deleteAt > now) next = Math.min(next, deleteAt - now);
        else overdue = true;
      }
    }
    if (!overdue) this.#removalRetry.reset();
    const wait = Math.min(next + REMOVAL_MARGIN_MS, overdue ? this.#removalRetry.next() : Number.POSITIVE_INFINITY);
    return Number.isFinite(wait) ? wait : undefined;
  }
}

/** Returns the new list, or the previous one if the vault reported it unchanged. */
function revalidated<R, T>(
  listing: Listing<R> | undefined,
  before: CachedList<T> | undefined,
  index: (records: readonly R[]) => T,
): CachedList<T> | undefined {
  return listing ? { etag: listing.etag, records: index(listing.records) } : before;
}

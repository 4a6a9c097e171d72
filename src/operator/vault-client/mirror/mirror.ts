import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import type { SnapshotChange } from "../connection.ts";
import { isVaultError } from "../vault-error.ts";
import { byFilename, byName, ListSnapshot, type FilesByName, type SecretsByName } from "./list-snapshot.ts";
import { changeBetween, madeAnew } from "./snapshot-change.ts";
import type { Listing, VaultApi } from "../vault-api.ts";

/** After a deadline of the vault's, so that the list no longer shows what it removed. */
const AFTER_DEADLINE_MS = 20;

export interface MirrorOptions {
  readonly api: VaultApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  /** Before `onChange`: what was remembered about these names no longer holds. */
  readonly onMadeAnew: (names: SnapshotChange) => void;
  /** The first list, or something differs from the one before: a name, or whether files are listed at all. */
  readonly onChange: (change: SnapshotChange) => void;
}

/** A parsed list and the etag to ask by whether it still holds. */
interface Kept<T> {
  readonly etag: string | undefined;
  readonly records: T;
}

export interface ListOutcome {
  /** In how many milliseconds to list again before the interval is over, where there is a reason to. */
  readonly dueInMs: number | undefined;
  readonly filesFailure: Error | undefined;
}

/** Keeps the latest whole list of a connection, and says what differs from the one before. Each `list` makes a new snapshot. */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #overdue: Backoff;
  readonly #filesRetry: Backoff;
  #filesWanted = false;
  #secrets: Kept<SecretsByName> | undefined;
  #files: Kept<FilesByName> | undefined;
  #snapshot: ListSnapshot | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#filesRetry = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
    this.#overdue = new Backoff({ baseMs: 1_000, maxMs: options.intervalMs }, options.random);
  }

  get snapshot(): ListSnapshot | undefined {
    return this.#snapshot;
  }

  /** Whether the next lists include files. */
  set filesWanted(wanted: boolean) {
    this.#filesWanted = wanted;
  }

  get filesWanted(): boolean {
    return this.#filesWanted;
  }

  /**
   * Lists, and takes the result in whole or not at all. Secrets do not wait for files: when only these cannot be listed they stay as
   * they were.
   * @throws what listing the secrets throws
   */
  async list(signal: AbortSignal): Promise<ListOutcome> {
    const { api } = this.#options;
    this.#secrets = kept(await api.listSecrets(this.#secrets?.etag, signal), this.#secrets, byName);
    const filesFailure = await this.#listFiles(signal);
    if (this.#secrets) this.#publish(this.#secrets.records);
    const due = this.#untilRemoval();
    if (!filesFailure) return { dueInMs: due, filesFailure };
    return { dueInMs: Math.min(due ?? Number.POSITIVE_INFINITY, this.#filesRetry.next()), filesFailure };
  }

  /** Answers what went wrong. @throws the signal's reason */
  async #listFiles(signal: AbortSignal): Promise<Error | undefined> {
    if (!this.#filesWanted) {
      this.#files = undefined;
      return undefined;
    }
    try {
      this.#files = kept(await this.#options.api.listFiles(this.#files?.etag, signal), this.#files, byFilename);
      this.#filesRetry.reset();
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (isVaultError(error)) return error;
      throw error;
    }
  }

  #publish(secrets: SecretsByName): void {
    const { clock, onMadeAnew, onChange } = this.#options;
    const before = this.#snapshot;
    const moment = { sequence: (before?.sequence ?? 0) + 1, listedAt: clock.now(), listedAtMonotonic: clock.monotonic() };
    const after = new ListSnapshot(moment, secrets, this.#files?.records);
    const change = changeBetween(before, after);
    this.#snapshot = after;
    const filesTurned = (before?.fileCount === undefined) !== (after.fileCount === undefined);
    if (before && !filesTurned && change.secrets.size === 0 && change.files.size === 0) return;
    if (before) onMadeAnew(madeAnew(before, after, change));
    onChange(change);
  }

  /** Of the moments `deleteAt` the next; for those that have passed and are still listed, a growing delay. */
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
    if (!overdue) this.#overdue.reset();
    const wait = Math.min(next + AFTER_DEADLINE_MS, overdue ? this.#overdue.next() : Number.POSITIVE_INFINITY);
    return Number.isFinite(wait) ? wait : undefined;
  }
}

/** The new list, or the one before when the vault says that it is unchanged. */
function kept<R, T>(
  listing: Listing<R> | undefined,
  before: Kept<T> | undefined,
  index: (records: readonly R[]) => T,
): Kept<T> | undefined {
  return listing ? { etag: listing.etag, records: index(listing.records) } : before;
}

import type { EntryKind, ListProgress, References, SnapshotChange } from "../connection.ts";
import type { HealthMonitor } from "./health-monitor.ts";
import { ListSnapshot } from "./list-snapshot.ts";
import { MirroredList, type ListEvents, type MirroredListOptions } from "./mirrored-list.ts";
import type { ListKind } from "./read-list.ts";
import { changeBetween, recreatedNames } from "./snapshot-change.ts";

const NEVER_LISTED: ListProgress = { lists: 0, at: 0, previousAt: Number.NEGATIVE_INFINITY };

export interface MirrorOptions extends MirroredListOptions {
  readonly health: HealthMonitor;
  /** Drops what is known about the values of changed names, before `onChange` is called. */
  readonly values: { changed(names: SnapshotChange, recreated: SnapshotChange): void };
  /**
   * Called after the first list, and after each list that differs in a referenced name or covers
   * another one.
   */
  readonly onChange: (change: SnapshotChange) => void;
  /** Called after every list, after `onChange`. */
  readonly onListed: (kind: EntryKind) => void;
}

const entryKindOf: Readonly<Record<ListKind, EntryKind>> = {
  list_no_dup: "secret",
  list_file: "file",
};

/**
 * Keeps the referenced entries of the latest complete lists of a connection and reports
 * differences. Secrets and files are listed independently: a failing list of files does not delay
 * the secrets. Each list creates a snapshot.
 */
export class Mirror implements AsyncDisposable {
  readonly #options: MirrorOptions;
  readonly #secrets: MirroredList<"list_no_dup">;
  #files: MirroredList<"list_file"> | undefined;
  #snapshot: ListSnapshot | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#secrets = new MirroredList(
      "list_no_dup",
      new Set(),
      options,
      this.#eventsOf("list_no_dup"),
    );
  }

  get snapshot(): ListSnapshot | undefined {
    return this.#snapshot;
  }

  /** Time in ms until the next list of the secrets. */
  get nextInMs(): number {
    return this.#secrets.nextInMs;
  }

  setReferences({ secrets, files }: References): void {
    this.#secrets.setNames(secrets);
    if (files.size === 0) this.#stopFiles();
    else if (this.#files) this.#files.setNames(files);
    else
      this.#files = new MirroredList(
        "list_file",
        files,
        this.#options,
        this.#eventsOf("list_file"),
      );
  }

  /**
   * Returns a snapshot whose list of secrets is requested after this call. @throws the error of
   * that list
   */
  async listAgain(signal: AbortSignal): Promise<ListSnapshot | undefined> {
    await this.#secrets.listAgain(signal);
    return this.#snapshot;
  }

  /**
   * Resolves after a list of this kind that is requested after this call, if entries of it are
   * referenced. @throws its error
   */
  async listKind(kind: EntryKind, signal: AbortSignal): Promise<void> {
    await (kind === "secret" ? this.#secrets : this.#files)?.listAgain(signal);
  }

  /** Lists again as soon as allowed. */
  soon(): void {
    this.#secrets.soon();
    this.#files?.soon();
  }

  /** As `soon`, but ends the delay after a failure. */
  retryNow(): void {
    this.#secrets.retryNow();
    this.#files?.retryNow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#secrets[Symbol.asyncDispose](), this.#files?.[Symbol.asyncDispose]()]);
  }

  #eventsOf(kind: ListKind): ListEvents {
    const { health, onListed } = this.#options;
    return {
      onListed: () => {
        const changed = this.#publish();
        health.listed(kind);
        onListed(entryKindOf[kind]);
        return changed;
      },
      onFailure: (error) => health.failed(kind, error),
    };
  }

  #stopFiles(): void {
    void this.#files?.[Symbol.asyncDispose]();
    this.#files = undefined;
    this.#options.health.stopped("list_file");
    if (this.#snapshot?.fileList) this.#publish();
  }

  /**
   * Replaces the snapshot as a whole, as soon as the secrets are listed. Returns whether a
   * referenced name differs.
   */
  #publish(): boolean {
    const { values, onChange } = this.#options;
    const { list: secrets, listedAt, listedAtMonotonic } = this.#secrets;
    if (!secrets) return false;
    const before = this.#snapshot;
    const progress = {
      secret: this.#secrets.progress,
      file: this.#files?.progress ?? NEVER_LISTED,
    };
    const origin = { listedAt, listedAtMonotonic, progress };
    const after = new ListSnapshot(origin, secrets, this.#files?.list, before);
    const change = changeBetween(before, after);
    this.#snapshot = after;
    if (before && change.secrets.size === 0 && change.files.size === 0) return false;
    values.changed(change, recreatedNames(before, after, change));
    onChange(change);
    return true;
  }
}

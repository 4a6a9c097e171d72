import { systemClock, type Clock, type Timer } from "../../../../lib/clock.ts";
import { systemRandom, type Random } from "../../../../lib/random.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { TransactionTurns } from "./transaction-turns.ts";
import { WriteQueue } from "./write-queue.ts";
import { ChangeFeed, subjectKey } from "../change-feed.ts";
import type { RowMacs } from "../row-macs.ts";
import {
  server,
  type Migration,
  type Party,
  type Store,
  type Transaction,
  type Writer,
} from "../store.ts";

/** Interval of the checks, in milliseconds: short enough to notice a change within a second. */
const INTERVAL_MS = 500;

interface ExternalChangesOptions {
  readonly clock: Clock;
  /** Returns a number that each commit of another connection changes. */
  readonly version: () => Promise<number>;
  /** Called after commits of other connections. */
  readonly changed: () => void;
}

/** Notices commits of other processes by one cheap read for all that wait, until disposed. */
class ExternalChanges implements Disposable {
  readonly #options: ExternalChangesOptions;
  #known: number | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: ExternalChangesOptions) {
    this.#options = options;
  }

  /** Checks for the first time, and then repeatedly. */
  async start(): Promise<void> {
    const { clock, version, changed } = this.#options;
    // While the file cannot be read, nothing that waits could be read either.
    const current = await version().catch(() => this.#known);
    if (this.#known !== undefined && current !== this.#known) changed();
    this.#known = current;
    if (!this.#stopped) this.#timer = clock.timer(INTERVAL_MS, () => void this.start());
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
  }
}

export interface SqliteStoreOptions {
  /** Clock of the backoff between attempts: real time, even when the server's clock is virtual. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** A second connection to the same file, for reads. */
  readonly reading?: SqliteConnection;
  /** Seals and checks rows (`openStore`). */
  readonly macs?: RowMacs | undefined;
}

/**
 * A store in one SQLite file or in memory. Transactions of a connection take turns; those that
 * write wait for other processes and accounts first, in a queue. Reads of a file have a second
 * connection: they do not wait for a long write.
 */
export class SqliteStore implements Store {
  readonly #writer: TransactionTurns;
  readonly #reader: TransactionTurns;
  readonly changes = new ChangeFeed();
  readonly migration: Migration | undefined;
  readonly #writes: WriteQueue;
  readonly #external: ExternalChanges;

  constructor(
    connection: SqliteConnection,
    { reading, macs, clock = systemClock, random = systemRandom }: SqliteStoreOptions = {},
  ) {
    this.migration = connection.migration;
    this.#writer = new TransactionTurns(connection, clock, macs);
    this.#reader = reading ? new TransactionTurns(reading, clock, macs) : this.#writer;
    this.#writes = new WriteQueue({ clock, random });
    this.#external = new ExternalChanges({
      clock,
      // The version of the writing connection, because the other one sees the writes of this
      // process too.
      version: () => this.#writer.run((writing) => writing.dataVersion()),
      // Commands such as `vault user disable`: which lists they changed is not known.
      changed: () => this.changes.publishAll(),
    });
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, writer: Writer = server): Promise<T> {
    const publish = (changed: ReadonlySet<string>): void =>
      this.changes.publish([...changed].map(subjectKey));
    // An attempt that finds the file busy has been rolled back.
    return this.#writes.run(writer, () =>
      this.#writer.transact("BEGIN IMMEDIATE", work, writer, publish),
    );
  }

  read<T>(work: (transaction: Transaction) => Promise<T>, reader?: Party): Promise<T> {
    return this.#reader.transact("BEGIN DEFERRED", work, reader);
  }

  readOne<T>(work: (transaction: Transaction) => Promise<T>, reader?: Party): Promise<T> {
    return this.#reader.single(work, reader);
  }

  /** Runs a job on the writing connection while no transaction reads. */
  #alone(job: (connection: SqliteConnection) => void): Promise<void> {
    if (this.#reader === this.#writer) return this.#writer.run(job);
    return this.#writer.run((connection) => this.#reader.run(() => job(connection)));
  }

  listen(): Promise<void> {
    return this.#external.start();
  }

  scrub(): Promise<void> {
    // secure_delete has overwritten the pages; the write-ahead log still contains their previous
    // content. While another process reads or writes, nothing happens: the sweeper tries again.
    return this.#alone((connection) => connection.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  reusableBytes(): Promise<number> {
    return this.#writer.run((connection) => connection.reusableBytes());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#external[Symbol.dispose]();
    await this.#writes.drained();
    for (const turns of new Set([this.#reader, this.#writer])) await turns.close();
  }
}

/**
 * Opens the store, creating or migrating the file as needed.
 * @param location a file path or `":memory:"`
 * @param macs of `openStore`
 * @throws Error when the file cannot be opened, was written by a newer release, or by an earlier one
 * and may not be migrated
 */
export function openSqliteStore(location: string, macs?: RowMacs, migrates = true): Store {
  const writing = new SqliteConnection(location, migrates);
  if (location === ":memory:") return new SqliteStore(writing, { macs });
  try {
    return new SqliteStore(writing, { reading: new SqliteConnection(location), macs });
  } catch (error) {
    writing.close();
    throw error;
  }
}

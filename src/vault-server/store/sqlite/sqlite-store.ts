import { systemClock, type Clock } from "../../../lib/clock.ts";
import { systemRandom, type Random } from "../../../lib/random.ts";
import { ExternalChanges } from "./external-changes.ts";
import { SqliteConnection } from "./sqlite-connection.ts";
import { sqliteFailure } from "./sqlite-failure.ts";
import { WriteQueue } from "./write-queue.ts";
import { ChangeFeed, subjectKey } from "../change-feed.ts";
import { sqlTransaction } from "../sql/sql-transaction.ts";
import type { Store, Transaction } from "../store.ts";

export interface SqliteStoreOptions {
  /** Clock of the backoff between attempts: real time, even when the server's clock is virtual. */
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * A store in one SQLite file or in memory. It has one connection, so transactions take turns; those that write wait for other processes first,
 * in a queue of their own.
 */
export class SqliteStore implements Store {
  readonly #connection: SqliteConnection;
  readonly #transaction: Transaction;
  readonly changes = new ChangeFeed();
  /** Subjects that the current transaction changed. */
  readonly #changed = new Set<string>();
  readonly #writes: WriteQueue;
  readonly #external: ExternalChanges;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(connection: SqliteConnection, { clock = systemClock, random = systemRandom }: SqliteStoreOptions = {}) {
    this.#connection = connection;
    this.#writes = new WriteQueue({ clock, random });
    this.#external = new ExternalChanges({
      clock,
      version: () => this.#inTurn(() => connection.dataVersion()),
      // Commands such as `vault user disable`: which lists they changed is not known.
      changed: () => this.changes.publishAll(),
    });
    this.#transaction = sqlTransaction(connection, (subject) => this.#changed.add(subject));
  }

  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    // An attempt that finds the file busy has been rolled back.
    return this.#writes.run(() => this.#inTurn(() => this.#transact("BEGIN IMMEDIATE", work)));
  }

  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#transact("BEGIN DEFERRED", work));
  }

  async #transact<T>(begin: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    this.#changed.clear();
    this.#connection.exec(begin);
    try {
      const result = await work(this.#transaction);
      this.#connection.exec("COMMIT");
      this.changes.publish([...this.#changed].map(subjectKey));
      return result;
    } catch (error) {
      this.#connection.rollback();
      throw error;
    }
  }

  #inTurn<T>(job: () => T | Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(job).catch((error: unknown) => {
      throw sqliteFailure(error);
    });
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  listen(): Promise<void> {
    return this.#external.start();
  }

  scrub(): Promise<void> {
    // secure_delete has overwritten the pages; the write-ahead log still contains their previous content. While another process
    // reads or writes, nothing happens: the sweeper tries again.
    return this.#inTurn(() => this.#connection.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  reusableBytes(): Promise<number> {
    return this.#inTurn(() => this.#connection.reusableBytes());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#external[Symbol.dispose]();
    await this.#writes.drained();
    await this.#inTurn(() => this.#connection.close());
  }
}

/**
 * Opens the store, creating or migrating the file as needed.
 * @param location a file path or `":memory:"`
 * @throws Error when the file cannot be opened or was written by a newer release
 */
export function openSqliteStore(location: string): Store {
  return new SqliteStore(new SqliteConnection(location));
}

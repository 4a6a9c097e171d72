import { migrationFrom, type Migration } from "../store.ts";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { longWork, type Slices } from "../../long-work.ts";
import { sqliteMigrations } from "./sqlite-migrations.ts";
import { positionsOf, Row, valuesOf, type SqlValue } from "../sql/row.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";

/** Maximum wait for writes of other processes while the file is opened, in milliseconds. */
const OPEN_TIMEOUT_MS = 10_000;
/**
 * The same for a statement. A statement that waits blocks the event loop: `WriteQueue` waits
 * longer, between attempts.
 */
const BUSY_TIMEOUT_MS = 20;

function open(location: string): DatabaseSync {
  try {
    return new DatabaseSync(location, { timeout: OPEN_TIMEOUT_MS });
  } catch (error) {
    throw new Error(
      `cannot open the data file ${location}: its directory must exist and be writable`,
      { cause: error },
    );
  }
}

/** A statement that returns rows as arrays: arrays are cheaper than objects. */
interface Prepared {
  readonly statement: StatementSync;
  readonly positions: ReadonlyMap<string, number>;
}

/**
 * One open database with its prepared statements. `":memory:"` is a private database that exists as
 * long as the connection; pages beyond SQLite's cache spill to an unlinked temporary file (sealed
 * like all data): a large upload uses no memory.
 * @throws Error when the file cannot be opened, was written by a newer release, or by an earlier one
 * and may not be migrated
 */
export class SqliteConnection implements SqlConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();
  #slices: Slices | undefined;
  /** Resolves in the turn of the last statement that waits for one. */
  #waiting: Promise<void> | undefined;
  /** `Store.migration` */
  readonly migration: Migration | undefined;

  constructor(location: string, migrates = true) {
    const ephemeral = location === ":memory:";
    this.#database = open(ephemeral ? "" : location);
    try {
      this.#setJournalMode(location, ephemeral ? "memory" : "wal");
      // FULL: an acknowledged write survives a power failure. secure_delete: removed values are
      // overwritten.
      this.#database.exec(
        "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON",
      );
      // In KiB: fits the indexes of several hundred thousand secrets; the default of 2 MiB fits a
      // tenth of that.
      this.#database.exec("PRAGMA cache_size = -16384");
      this.migration = this.#migrate(migrates);
      this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** SQLite keeps another mode, without an error, when it cannot use this one. */
  #setJournalMode(location: string, expected: "memory" | "wal"): void {
    const mode = this.#first(`PRAGMA journal_mode = ${expected}`)?.text("journal_mode");
    if (mode === expected) return;
    throw new Error(
      `the file system of ${location} does not support shared memory mappings or POSIX locks, which the write-ahead log needs ` +
        `(journal_mode is ${mode}, expected ${expected}): store the data file on a local file system`,
    );
  }

  #migrate(migrates: boolean): Migration | undefined {
    this.exec("BEGIN IMMEDIATE");
    try {
      const version = this.#first("PRAGMA user_version")?.number("user_version") ?? 0;
      if (version > sqliteMigrations.length)
        throw new Error("the data file was written by a newer release of vaultsync");
      const migration = migrationFrom(version, sqliteMigrations.length, migrates);
      for (const step of sqliteMigrations.slice(version)) this.exec(step);
      // Opening data of this release writes nothing.
      if (version < sqliteMigrations.length)
        this.exec(`PRAGMA user_version = ${sqliteMigrations.length}`);
      this.exec("COMMIT");
      return migration;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    const prepared = {
      statement,
      positions: positionsOf(statement.columns().map(({ name }) => name)),
    };
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #first(sql: string, ...values: SqlValue[]): Row | undefined {
    const { statement, positions } = this.#prepare(sql);
    const row = statement.get(...values);
    return row && new Row(positions, valuesOf(row));
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Begins work. Its statements let other work use the event loop when they take long together. */
  begin(): void {
    this.#slices = longWork.start();
  }

  /**
   * Does nothing when SQLite has already rolled back, for example on a full disk: the first error
   * is the one to report.
   */
  rollback(): void {
    if (this.#database.isTransaction) this.exec("ROLLBACK");
  }

  /**
   * Runs a statement after those that were called before it, each of which may take long. Without
   * any, it runs immediately.
   */
  async #inTurn<T>(statement: () => T): Promise<T> {
    const before = this.#waiting;
    const turn = before ? before.then(() => this.#slices?.pause()) : this.#slices?.pause();
    this.#waiting = turn;
    if (turn) {
      await turn;
      if (this.#waiting === turn) this.#waiting = undefined;
    }
    return statement();
  }

  /** Resolves when all statements that were called have run. */
  async settled(): Promise<void> {
    while (this.#waiting) await this.#waiting;
  }

  get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return this.#inTurn(() => this.#first(sql, ...values));
  }

  all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#inTurn(() => {
      const { statement, positions } = this.#prepare(sql);
      return statement.all(...values).map((row) => new Row(positions, valuesOf(row)));
    });
  }

  run(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.#inTurn(() => Number(this.#prepare(sql).statement.run(...values).changes));
  }

  /** The same as `run`: `secure_delete` overwrites immediately. */
  wipe(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.run(sql, ...values);
  }

  /** Bytes of the pages of removed rows; the file keeps them for new rows. */
  reusableBytes(): number {
    const pages = this.#first("PRAGMA freelist_count")?.number("freelist_count") ?? 0;
    return pages * (this.#first("PRAGMA page_size")?.number("page_size") ?? 0);
  }

  /** Returns a number that changes when another connection has committed. */
  dataVersion(): number {
    return this.#first("PRAGMA data_version")?.number("data_version") ?? 0;
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

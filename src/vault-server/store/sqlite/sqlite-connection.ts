import { DatabaseSync, type StatementSync } from "node:sqlite";
import { migrations } from "./sqlite-migrations.ts";
import { placesOf, Row, valuesOf } from "../sql/row.ts";
import type { SqlConnection, SqlValue } from "../sql/sql-connection.ts";

/** How long to wait for another process's write, in milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

function open(location: string): DatabaseSync {
  try {
    return new DatabaseSync(location, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw new Error(`cannot open the data file ${location}: is its directory there, and writable?`, { cause: error });
  }
}

/** A statement that answers rows as arrays, which costs less than objects. */
interface Prepared {
  readonly statement: StatementSync;
  readonly places: ReadonlyMap<string, number>;
}

/**
 * One open database, with its statements kept prepared. `":memory:"` is a private database that lives as long as the connection; what
 * does not fit SQLite's cache spills to an unlinked temporary file (sealed like everything else), so a big upload costs no memory.
 * @throws Error when the file cannot be opened or was written by a newer release
 */
export class SqliteConnection implements SqlConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Prepared>();

  constructor(location: string) {
    const throwaway = location === ":memory:";
    this.#database = open(throwaway ? "" : location);
    try {
      this.#database.exec(`PRAGMA journal_mode = ${throwaway ? "MEMORY" : "WAL"}`);
      // FULL: an acknowledged write outlives a power cut. secure_delete: removed values are overwritten.
      this.#database.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON");
      // In KiB: the indexes of some hundred thousand secrets; the default of 2 MiB holds a tenth of that.
      this.#database.exec("PRAGMA cache_size = -16384");
      this.#migrate();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #migrate(): void {
    this.exec("BEGIN IMMEDIATE");
    try {
      const version = this.#first("PRAGMA user_version")?.number("user_version") ?? 0;
      if (version > migrations.length) throw new Error("the data file was written by a newer release of vaultsync");
      for (const step of migrations.slice(version)) this.exec(step);
      // Opening data of this release writes nothing.
      if (version < migrations.length) this.exec(`PRAGMA user_version = ${migrations.length}`);
      this.exec("COMMIT");
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
    const prepared = { statement, places: placesOf(statement.columns().map(({ name }) => name)) };
    this.#statements.set(sql, prepared);
    return prepared;
  }

  #first(sql: string, ...values: SqlValue[]): Row | undefined {
    const { statement, places } = this.#prepare(sql);
    const row = statement.get(...values);
    return row && new Row(places, valuesOf(row));
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Does nothing when SQLite has rolled back by itself, a full disk for one: the first error is the one to report. */
  rollback(): void {
    if (this.#database.isTransaction) this.exec("ROLLBACK");
  }

  async get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return this.#first(sql, ...values);
  }

  async all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    const { statement, places } = this.#prepare(sql);
    return statement.all(...values).map((row) => new Row(places, valuesOf(row)));
  }

  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    return Number(this.#prepare(sql).statement.run(...values).changes);
  }

  /** Nothing to remember: `secure_delete` overwrites at once. */
  wipe(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.run(sql, ...values);
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

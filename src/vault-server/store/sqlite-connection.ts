import { DatabaseSync, type StatementSync } from "node:sqlite";
import { migrations } from "./migrations.ts";
import { Row } from "./row.ts";
import type { SqlConnection, SqlValue } from "./sql-connection.ts";

/** How long to wait for another process's write, in milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

function open(location: string): DatabaseSync {
  try {
    return new DatabaseSync(location, { timeout: BUSY_TIMEOUT_MS });
  } catch (error) {
    throw new Error(`cannot open the data file ${location}: is its directory there, and writable?`, { cause: error });
  }
}

/**
 * One open database, with its statements kept prepared. `":memory:"` is a private database that lives as long as the connection; what
 * does not fit SQLite's cache spills to an unlinked temporary file (sealed like everything else), so a big upload costs no memory.
 * @throws Error when the file cannot be opened or was written by a newer release
 */
export class SqliteConnection implements SqlConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

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
      const version = new Row(this.#prepare("PRAGMA user_version").get() ?? {}).number("user_version");
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

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Does nothing when SQLite has rolled back by itself, a full disk for one: the first error is the one to report. */
  rollback(): void {
    if (this.#database.isTransaction) this.exec("ROLLBACK");
  }

  async get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    const row = this.#prepare(sql).get(...values);
    return row && new Row(row);
  }

  async all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#prepare(sql)
      .all(...values)
      .map((row) => new Row(row));
  }

  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    return Number(this.#prepare(sql).run(...values).changes);
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

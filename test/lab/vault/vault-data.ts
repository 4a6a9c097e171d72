import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { inject } from "vitest";
import { z } from "zod";
import { PostgresDatabase } from "../postgres/postgres-database.ts";

/** Returns the concatenated bytes of all files below a directory. */
export async function everyByte(directory: string): Promise<Buffer> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
}

/** Reports whether vaults store their data in PostgreSQL, as in the project `postgres`. */
export function onPostgres(): boolean {
  return z.object({ url: z.string() }).optional().parse(inject("postgres")) !== undefined;
}

/** A transaction before which no server writes. */
interface HeldWrites extends AsyncDisposable {
  change(sql: string): Promise<unknown>;
  /** Commits: the servers continue. */
  commit(): Promise<unknown>;
}

/** The data of a vault, for tests that inspect it, change it or start another vault on it. */
export interface VaultData extends AsyncDisposable {
  /** Value of the option `data`. */
  readonly location: string;
  select(sql: string): Promise<Record<string, unknown>[]>;
  /** Runs statements without placeholders. */
  run(sql: string): Promise<unknown>;
  /** One statement with `$1`, `$2`, …; returns the number of changed rows. */
  change(sql: string, ...values: (string | number | Uint8Array)[]): Promise<number>;
  /** Makes the writes of all servers wait until the returned transaction is committed. */
  hold(): Promise<HeldWrites>;
  /** Returns all bytes of the data on disk, except logs that are shared with other databases. */
  written(): Promise<Buffer>;
  /** Marks the data as written by a newer release. */
  pretendNewer(): Promise<unknown>;
  /**
   * True when removed bytes are overwritten immediately; PostgreSQL overwrites them when it reuses
   * the space.
   */
  readonly overwrites: boolean;
}

class SqliteData implements VaultData {
  readonly overwrites = true;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get location(): string {
    return join(this.#directory, "vault.db");
  }

  /** Opens the file. A server may be using it. */
  #open(): DatabaseSync {
    return new DatabaseSync(this.location, { timeout: 30_000 });
  }

  async select(sql: string): Promise<Record<string, unknown>[]> {
    using database = this.#open();
    return database.prepare(sql).all();
  }

  async run(sql: string): Promise<void> {
    using database = this.#open();
    database.exec(sql);
  }

  async change(sql: string, ...values: (string | number | Uint8Array)[]): Promise<number> {
    using database = this.#open();
    return Number(database.prepare(sql.replaceAll("$", "?")).run(...values).changes);
  }

  async hold(): Promise<HeldWrites> {
    const database = this.#open();
    database.exec("BEGIN IMMEDIATE");
    return {
      change: async (sql) => database.exec(sql),
      commit: async () => database.exec("COMMIT"),
      [Symbol.asyncDispose]: async () => database.close(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }

  async pretendNewer(): Promise<void> {
    using database = this.#open();
    database.exec("PRAGMA user_version = 999");
  }

  written(): Promise<Buffer> {
    return everyByte(this.#directory);
  }
}

class PostgresData implements VaultData {
  readonly overwrites = false;
  readonly #database: PostgresDatabase;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  get location(): string {
    return this.#database.url;
  }

  async select(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.#database.run(sql)).rows;
  }

  run(sql: string): Promise<unknown> {
    return this.#database.run(sql);
  }

  async change(sql: string, ...values: (string | number | Uint8Array)[]): Promise<number> {
    return (await this.#database.run(sql, ...values)).rowCount ?? 0;
  }

  async hold(): Promise<HeldWrites> {
    const client = new Client({ connectionString: this.location });
    await client.connect();
    await client.query("BEGIN; LOCK TABLE write_turns IN EXCLUSIVE MODE");
    return {
      change: (sql) => client.query(sql),
      commit: () => client.query("COMMIT"),
      [Symbol.asyncDispose]: () => client.end(),
    };
  }

  pretendNewer(): Promise<number> {
    return this.change("UPDATE schema_version SET version = 999");
  }

  async written(): Promise<Buffer> {
    await this.#database.run("CHECKPOINT");
    const files = await this.#database.run(`
      SELECT pg_read_binary_file(path) AS bytes FROM (SELECT pg_relation_filepath(oid) AS path FROM pg_class) AS relations
      WHERE path IS NOT NULL`);
    return Buffer.concat(files.rows.map((row): Buffer => row.bytes));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database[Symbol.asyncDispose]();
  }
}

/**
 * Creates data in the store under test: a file in a new directory, or a database. A database has
 * the current tables unless it is `empty`.
 */
export async function createVaultData({ empty = false } = {}): Promise<VaultData> {
  return onPostgres()
    ? new PostgresData(await PostgresDatabase.create({ empty }))
    : new SqliteData(await mkdtemp(join(tmpdir(), "vaultsync-test-")));
}

import { Client, Pool, type ClientConfig, type PoolClient } from "pg";
import { Backoff } from "../../../../lib/backoff.ts";
import { systemClock, type Clock } from "../../../../lib/clock.ts";
import { systemRandom, type Random } from "../../../../lib/random.ts";
import { columnTypes, forgetPrepared, PostgresConnection } from "./postgres-connection.ts";
import {
  afterLastAttempt,
  connectFailure,
  isConflict,
  isOutdatedPlan,
  postgresFailure,
} from "./postgres-failure.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import { sqlTransaction } from "../sql/sql-transaction.ts";
import { server, StoreUnavailableError } from "../store.ts";
import { PostgresChanges } from "./postgres-changes.ts";
import { accountLock, CONNECTIONS, StoreTurns } from "./store-turns.ts";
import type { RowMacs } from "../row-macs.ts";
import type { Migration, Party, Store, Transaction, Writer } from "../store.ts";

/** Maximum wait for a new or a free connection, in milliseconds. */
const CONNECT_MS = 10_000;

/**
 * Limits in milliseconds for statements, lock waits and idle transactions. They keep one
 * transaction from blocking the rest.
 */
const timeouts: ClientConfig = {
  statement_timeout: 30_000,
  lock_timeout: 15_000,
  idle_in_transaction_session_timeout: 30_000,
  // Enforced by the client, for a server that disappeared without closing the connection.
  query_timeout: 35_000,
};

/**
 * A write that scans a table conflicts with every write of it. Without statistics, and for small
 * tables, the planner prefers that to an index.
 * https://www.postgresql.org/docs/current/transaction-iso.html#XACT-SERIALIZABLE
 */
const SESSION = "SET enable_seqscan = off; SET jit = off";
const READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
// The lock precedes the snapshot: an exclusive write sees all other writes.
const WRITE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE write_turns IN ROW EXCLUSIVE MODE";
// Where all conflicts are of rows that both change: it has none with writes that read its rows.
const WRITE_WIDE =
  "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE write_turns IN ROW EXCLUSIVE MODE";
const WRITE_EXCLUSIVE =
  "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE write_turns IN EXCLUSIVE MODE";

/**
 * Number of conflicts after which a write waits for other writes of this process that met as many:
 * mostly writes of many rows conflict, and with each other.
 */
const SHARED_ATTEMPTS = 1;
/**
 * Number of conflicts after which a write runs exclusively and cannot conflict: all other writes
 * wait for it, and a write of many rows (a sweep) still completes.
 */
const EXCLUSIVE_FROM = 4;
const ATTEMPTS = 6;

/** Tables with sealed bytes. */
const SEALED_TABLES = "secret_versions, file_versions, file_chunks";

function connectionConfig(location: string): ClientConfig {
  return {
    connectionString: location,
    fallback_application_name: "vaultsync",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: columnTypes,
  };
}

/** Opens a connection outside of the pool, without time limits. */
async function openMaintenance(
  location: string,
): Promise<AsyncDisposable & { readonly client: Client }> {
  const client = new Client(connectionConfig(location));
  client.on("error", () => undefined);
  const end = (): Promise<void> => client.end();
  try {
    await client.connect();
  } catch (error) {
    await end();
    throw error;
  }
  return { client, [Symbol.asyncDispose]: end };
}

export interface PostgresStoreOptions {
  /** Clock of the backoff between attempts: real time, even when the server's clock is virtual. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Seals and checks rows (`openStore`). */
  readonly macs?: RowMacs | undefined;
  readonly migration?: Migration | undefined;
}

/** A store in a PostgreSQL database that several servers may share. */
class PostgresStore implements Store {
  readonly #location: string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #pool: Pool;
  readonly #macs: RowMacs | undefined;
  readonly #turns: StoreTurns;
  readonly changes: PostgresChanges;
  readonly migration: Migration | undefined;
  #wiped = false;

  constructor(
    location: string,
    { macs, migration, clock = systemClock, random = systemRandom }: PostgresStoreOptions,
  ) {
    this.migration = migration;
    this.#macs = macs;
    this.#location = location;
    this.#clock = clock;
    this.#random = random;
    this.#turns = new StoreTurns(clock);
    this.#pool = new Pool({
      ...connectionConfig(location),
      ...timeouts,
      max: CONNECTIONS,
      pipeline: true,
    });
    // A lost connection is replaced when the next one is requested; its current user gets an error
    // from the query.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      // Fails with the connection only: its first user gets the error.
      client.query(SESSION).catch(() => undefined);
    });
    this.changes = new PostgresChanges(connectionConfig(location), this.#pool, { clock, random });
  }

  write<T>(work: (transaction: Transaction) => Promise<T>, writer?: Writer): Promise<T> {
    const shared =
      writer?.alone === true ? WRITE_EXCLUSIVE : writer?.wide === true ? WRITE_WIDE : WRITE;
    const write = (owner?: string): Promise<T> =>
      this.#attempt((conflicts) => {
        if (conflicts < SHARED_ATTEMPTS) return this.#transact(shared, work, owner);
        const begin = conflicts < EXCLUSIVE_FROM ? shared : WRITE_EXCLUSIVE;
        return this.#turns.alone(writer?.account ?? "", () => this.#transact(begin, work, owner));
      });
    return writer ? this.#turns.run(writer, write) : this.#turns.server(write);
  }

  read<T>(work: (transaction: Transaction) => Promise<T>, reader = server): Promise<T> {
    return this.#inTurn(() => this.#transact(READ, work), reader);
  }

  readOne<T>(work: (transaction: Transaction) => Promise<T>, reader = server): Promise<T> {
    return this.#inTurn(() => this.#transact(undefined, work), reader);
  }

  #inTurn<T>(read: () => Promise<T>, reader: Party): Promise<T> {
    return this.#turns.read(reader, () => this.#attempt(read));
  }

  async #attempt<T>(transact: (conflicts: number) => Promise<T>): Promise<T> {
    const backoff = new Backoff({ baseMs: 5, maxMs: 200 }, this.#random);
    for (;;) {
      try {
        return await transact(backoff.failures);
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (backoff.failures + 1 >= ATTEMPTS) throw afterLastAttempt(error);
        if (isOutdatedPlan(error)) forgetPrepared();
        await this.#clock.sleep(backoff.next());
      }
    }
  }

  /**
   * @param begin `undefined` for one statement without a transaction
   * @param owner whose data no other server writes during the transaction
   */
  async #transact<T>(
    begin: string | undefined,
    work: (transaction: Transaction) => Promise<T>,
    owner?: string,
  ): Promise<T> {
    const client = await this.#connect();
    const connection = new PostgresConnection(client, () => (this.#wiped = true));
    const changed = new Set<string>();
    const lock = owner === undefined ? undefined : accountLock(owner, begin === WRITE_WIDE);
    // Sent together with the first statement of the work. If this fails, that statement fails too.
    // The lock precedes the snapshot.
    const first = [lock?.take, begin]
      .filter((sql) => sql !== undefined)
      .map((sql) => connection.exec(sql));
    const begun = first.length === 0 ? undefined : Promise.all(first);
    begun?.catch(() => undefined);
    try {
      const result = await work(
        sqlTransaction(connection, (subject) => changed.add(subject), new Set(), this.#macs),
      );
      await begun;
      if (begin === undefined || begin === READ) {
        if (begun) endRead(client, connection);
        else client.release();
        return result;
      }
      if ((await connection.exec("COMMIT")) !== "COMMIT")
        throw new Error("a failed statement was ignored within a transaction");
      // Nothing waits for it. It fails with the connection only, and that ends the lock too.
      if (lock) connection.exec(lock.release).catch(() => undefined);
      client.release();
      this.changes.announce(changed);
      return result;
    } catch (error) {
      const failure = connection.failure ?? error;
      connection.end(failure);
      await abandon(client, failure);
      throw failure;
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw postgresFailure(error);
    }
  }

  listen(): Promise<void> {
    return this.changes.listen();
  }

  async reusableBytes(): Promise<number> {
    return 0;
  }

  async scrub(): Promise<void> {
    if (!this.#wiped) return;
    this.#wiped = false;
    try {
      await using maintenance = await openMaintenance(this.#location);
      await maintenance.client.query(`VACUUM ${SEALED_TABLES}`);
    } catch (error) {
      this.#wiped = true;
      throw postgresFailure(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.changes[Symbol.asyncDispose]();
    await this.#pool.end();
  }
}

/**
 * Returns a connection to the pool without waiting for the end of its read; the next transaction
 * follows it.
 */
function endRead(client: PoolClient, connection: PostgresConnection): void {
  // Fails with the connection only; the pool then replaces the connection.
  connection.exec("COMMIT").catch(() => undefined);
  client.release();
}

/** Returns a connection to the pool after a failure, or closes it when it is unusable. */
async function abandon(client: PoolClient, failure: unknown): Promise<void> {
  if (failure instanceof StoreUnavailableError) return client.release(true);
  try {
    await client.query("ROLLBACK; SELECT pg_advisory_unlock_all()");
    client.release();
  } catch {
    client.release(true);
  }
}

/**
 * Opens the store, creating or migrating its tables as needed.
 * @param location `postgres://…` or `postgresql://…`, as the `pg` package parses it; omitted parts
 * come from PGHOST, PGPASSWORD, …
 * @throws Error when the database is unreachable, was written by a newer release, or by an earlier
 * one and may not be migrated
 */
export async function openPostgresStore(
  location: string,
  { migrates = true, ...options }: PostgresStoreOptions & { readonly migrates?: boolean } = {},
): Promise<Store> {
  await using maintenance = await openMaintenance(location).catch((error: unknown) => {
    throw connectFailure(location, error);
  });
  const migration = await migratePostgres(maintenance.client, migrates);
  return new PostgresStore(location, { ...options, migration });
}

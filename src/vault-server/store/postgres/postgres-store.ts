import { Client, Pool, type ClientConfig, type PoolClient } from "pg";
import { Backoff } from "../../../lib/backoff.ts";
import { systemClock, type Clock } from "../../../lib/clock.ts";
import { systemRandom, type Random } from "../../../lib/random.ts";
import { columnTypes, forgetPrepared, PostgresConnection } from "./postgres-connection.ts";
import { afterLastAttempt, connectFailure, isConflict, isOutdatedPlan, postgresFailure } from "./postgres-failure.ts";
import { migratePostgres } from "./postgres-migrate.ts";
import { sqlTransaction } from "../sql/sql-transaction.ts";
import { StoreUnavailableError } from "../store.ts";
import type { Store, Transaction } from "../store.ts";

/** Connections of one process; the server's `max_connections` (100 by default) is for all replicas together. */
const CONNECTIONS = 10;
/** To a connection, a free one included, in milliseconds. */
const CONNECT_MS = 10_000;

/** How long each statement, each wait for a lock and each pause within a transaction may take, so that nobody holds up the others. */
const timeouts: ClientConfig = {
  statement_timeout: 30_000,
  lock_timeout: 15_000,
  idle_in_transaction_session_timeout: 30_000,
  // The client's own, for a server that is gone without a word.
  query_timeout: 35_000,
};

const READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
// The lock comes before the snapshot, so that one who is alone sees what all others have written.
const WRITE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE write_turns IN ROW EXCLUSIVE MODE";
const WRITE_ALONE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE write_turns IN EXCLUSIVE MODE";

/**
 * After so many conflicts a write runs alone, which cannot conflict: on two cores this was quicker than trying five times among 8 to 40
 * writers, and one that is never lucky (a sweep, many rows at once) still ends.
 */
const ATTEMPTS_TOGETHER = 2;
const ATTEMPTS = 4;

/** The tables whose rows hold sealed bytes. */
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

/** A connection of its own, where statements may take their time. */
async function openMaintenance(location: string): Promise<AsyncDisposable & { readonly client: Client }> {
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
  /** What the pauses between attempts are counted on: the database's time is real, whatever the server's is. */
  readonly clock?: Clock;
  readonly random?: Random;
}

/** A store in a PostgreSQL database, which several servers may share. */
class PostgresStore implements Store {
  readonly #location: string;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #pool: Pool;
  #wiped = false;

  constructor(location: string, { clock = systemClock, random = systemRandom }: PostgresStoreOptions) {
    this.#location = location;
    this.#clock = clock;
    this.#random = random;
    this.#pool = new Pool({ ...connectionConfig(location), ...timeouts, max: CONNECTIONS });
    // A lost connection is replaced when the next one is asked for; who uses it meanwhile learns from the query.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#attempt((conflicts) => (conflicts < ATTEMPTS_TOGETHER ? WRITE : WRITE_ALONE), work);
  }

  read<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#attempt(() => READ, work);
  }

  async #attempt<T>(begin: (conflicts: number) => string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const backoff = new Backoff({ baseMs: 5, maxMs: 200 }, this.#random);
    for (;;) {
      try {
        return await this.#transact(begin(backoff.failures), work);
      } catch (error) {
        if (!isConflict(error)) throw error;
        if (backoff.failures + 1 >= ATTEMPTS) throw afterLastAttempt(error);
        if (isOutdatedPlan(error)) forgetPrepared();
        await this.#clock.sleep(backoff.next());
      }
    }
  }

  async #transact<T>(begin: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const connection = new PostgresConnection(client, () => (this.#wiped = true));
    try {
      await connection.exec(begin);
      const result = await work(sqlTransaction(connection));
      if ((await connection.exec("COMMIT")) !== "COMMIT") throw new Error("a failed statement was ignored within a transaction");
      client.release();
      return result;
    } catch (error) {
      await abandon(client, error);
      throw error;
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw postgresFailure(error);
    }
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
    await this.#pool.end();
  }
}

/** Gives a connection back after a failure, or ends it when it is of no more use. */
async function abandon(client: PoolClient, failure: unknown): Promise<void> {
  if (failure instanceof StoreUnavailableError) return client.release(true);
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch {
    client.release(true);
  }
}

/**
 * Opens the store, making or migrating its tables as needed.
 * @param location `postgres://…` or `postgresql://…`, as the `pg` package reads it; what it leaves out comes from PGHOST, PGPASSWORD, …
 * @throws Error that says what to do: when the database cannot be reached or was written by a newer release
 */
export async function openPostgresStore(location: string, options: PostgresStoreOptions = {}): Promise<Store> {
  await using maintenance = await openMaintenance(location).catch((error: unknown) => {
    throw connectFailure(location, error);
  });
  await migratePostgres(maintenance.client);
  return new PostgresStore(location, options);
}

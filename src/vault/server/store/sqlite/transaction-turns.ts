import type { Clock } from "../../../../lib/clock.ts";
import type { Row, SqlValue } from "../sql/row.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";
import { sqlTransaction } from "../sql/sql-transaction.ts";
import type { RowMacs } from "../row-macs.ts";
import { server, type Party, type Transaction } from "../store.ts";
import { FairSlots } from "../fair-slots.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { sqliteFailure } from "./sqlite-failure.ts";

/** One transaction at a time: how much an account has used always counts. */
export const ONE_AT_A_TIME = { slots: 1, share: 1, busy: 1, busyMs: 0, fadingMs: 1 };

/** The statements of transactions, until one of these fails. */
class Statements implements SqlConnection {
  readonly #connection: SqliteConnection;
  #failure: Error | undefined;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** Ends a transaction with a failure: what it has started runs no statements any more. */
  end(failure: unknown): void {
    this.#failure = new Error("the transaction has failed", { cause: failure });
  }

  #refusal(): Promise<never> | undefined {
    return this.#failure && Promise.reject(this.#failure);
  }

  get(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return this.#refusal() ?? this.#connection.get(sql, ...values);
  }

  all(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return this.#refusal() ?? this.#connection.all(sql, ...values);
  }

  run(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.#refusal() ?? this.#connection.run(sql, ...values);
  }

  wipe(sql: string, ...values: SqlValue[]): Promise<number> {
    return this.#refusal() ?? this.#connection.wipe(sql, ...values);
  }
}

/** One connection with transactions that take turns, fair among accounts. */
export class TransactionTurns {
  readonly #connection: SqliteConnection;
  readonly #macs: RowMacs | undefined;
  #statements: Statements;
  #transaction: Transaction;
  /** Subjects that the current transaction changed. */
  readonly #changed = new Set<string>();
  /** Secrets whose lists the current transaction has touched. */
  readonly #touched = new Set<string>();
  readonly #turns: FairSlots;

  constructor(connection: SqliteConnection, clock: Clock, macs?: RowMacs) {
    this.#connection = connection;
    this.#turns = new FairSlots(clock, ONE_AT_A_TIME);
    this.#macs = macs;
    this.#statements = new Statements(connection);
    this.#transaction = this.#tables();
  }

  #tables(): Transaction {
    return sqlTransaction(
      this.#statements,
      (subject) => this.#changed.add(subject),
      this.#touched,
      this.#macs,
    );
  }

  /** Runs a job in a turn of a party. */
  run<T>(job: (connection: SqliteConnection) => T | Promise<T>, party = server): Promise<T> {
    return this.#turns.run(party, async () => {
      try {
        return await job(this.#connection);
      } catch (error) {
        throw sqliteFailure(error);
      }
    });
  }

  /** Closes the connection after all work that waits for it. */
  async close(): Promise<void> {
    await this.#turns.idle();
    this.#connection.close();
  }

  /** Runs a read of one statement: it is a transaction by itself. */
  single<T>(work: (transaction: Transaction) => Promise<T>, party?: Party): Promise<T> {
    return this.run((connection) => {
      connection.begin();
      return work(this.#transaction);
    }, party);
  }

  /** @param committed called with the subjects that the transaction changed */
  transact<T>(
    begin: string,
    work: (transaction: Transaction) => Promise<T>,
    party?: Party,
    committed: (changed: ReadonlySet<string>) => void = () => undefined,
  ): Promise<T> {
    return this.run(async (connection) => {
      this.#changed.clear();
      this.#touched.clear();
      connection.exec(begin);
      connection.begin();
      try {
        const result = await work(this.#transaction);
        connection.exec("COMMIT");
        committed(this.#changed);
        return result;
      } catch (error) {
        this.#statements.end(error);
        this.#statements = new Statements(connection);
        this.#transaction = this.#tables();
        // Statements that were started together with the one that failed are part of it.
        await connection.settled();
        connection.rollback();
        throw error;
      }
    }, party);
  }
}

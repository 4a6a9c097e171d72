import { longWork } from "../../long-work.ts";
import { sqlTransaction } from "../sql/sql-transaction.ts";
import type { RowMacs } from "../row-macs.ts";
import type { Transaction } from "../store.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { sqliteFailure } from "./sqlite-failure.ts";

/** One connection with transactions that take turns. */
export class TransactionTurns {
  readonly #connection: SqliteConnection;
  readonly #transaction: Transaction;
  /** Subjects that the current transaction changed. */
  readonly #changed = new Set<string>();
  /** Secrets whose lists the current transaction has touched. */
  readonly #touched = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: SqliteConnection, macs?: RowMacs) {
    this.#connection = connection;
    this.#transaction = sqlTransaction(
      connection,
      (subject) => this.#changed.add(subject),
      this.#touched,
      macs,
    );
  }

  /** Runs a job after those before it. */
  run<T>(job: (connection: SqliteConnection) => T | Promise<T>): Promise<T> {
    const turn = this.#last
      .then(async () => {
        await longWork.shortTurn();
        return job(this.#connection);
      })
      .catch((error: unknown) => {
        throw sqliteFailure(error);
      });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Runs a read of one statement: it is a transaction by itself. */
  single<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.run((connection) => {
      connection.begin();
      return work(this.#transaction);
    });
  }

  /** @param committed called with the subjects that the transaction changed */
  transact<T>(
    begin: string,
    work: (transaction: Transaction) => Promise<T>,
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
        connection.rollback();
        throw error;
      }
    });
  }
}

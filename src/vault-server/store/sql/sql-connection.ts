import type { Row } from "./row.ts";

/** What a statement's placeholders are given. */
export type SqlValue = string | number | Uint8Array;

/**
 * A database within one transaction, as the tables see it: they speak the SQL that SQLite and PostgreSQL share, so each table is written
 * once. Placeholders are `?`, one a value, or `?1`, `?2`, … where a value is used more than once; never both in one statement.
 */
export interface SqlConnection {
  /** The first row. */
  get(sql: string, ...values: SqlValue[]): Promise<Row | undefined>;
  all(sql: string, ...values: SqlValue[]): Promise<Row[]>;
  /** Answers how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): Promise<number>;
  /** As `run`, of a statement that removes or replaces sealed bytes: `Store.scrub` then has something to do. */
  wipe(sql: string, ...values: SqlValue[]): Promise<number>;
}

import type { Row, SqlValue } from "./row.ts";

/**
 * A database within one transaction. The tables use only SQL that SQLite and PostgreSQL have in
 * common, so each table is written once. Placeholders are `?`, one per value, or `?1`, `?2`, …
 * where a value is used more than once; a statement never mixes both.
 */
export interface SqlConnection {
  /** Returns the first row. */
  get(sql: string, ...values: SqlValue[]): Promise<Row | undefined>;
  all(sql: string, ...values: SqlValue[]): Promise<Row[]>;
  /** Returns the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): Promise<number>;
  /**
   * Like `run`, for statements that remove or replace sealed bytes. `Store.scrub` then overwrites
   * these.
   */
  wipe(sql: string, ...values: SqlValue[]): Promise<number>;
}

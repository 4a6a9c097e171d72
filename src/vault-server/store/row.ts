import type { SqlValue } from "./sql-connection.ts";

/** One row of a result, read by column and kind. @throws TypeError when the column holds something else */
export class Row {
  readonly #columns: Record<string, unknown>;

  constructor(columns: Record<string, unknown>) {
    this.#columns = columns;
  }

  text(column: string): string {
    const value = this.#columns[column];
    if (typeof value !== "string") throw new TypeError(`column ${column} is no text`);
    return value;
  }

  number(column: string): number {
    const value = this.#columns[column];
    if (typeof value !== "number") throw new TypeError(`column ${column} is no number`);
    return value;
  }

  /** Of whatever kind. */
  value(column: string): SqlValue {
    const value = this.#columns[column];
    if (typeof value === "string" || typeof value === "number" || value instanceof Uint8Array) return value;
    throw new TypeError(`column ${column} is neither text nor number nor bytes`);
  }

  /** SQLite answers conditions with 0 or 1. */
  boolean(column: string): boolean {
    const value = this.#columns[column];
    if (value === true || value === 1) return true;
    if (value === false || value === 0) return false;
    throw new TypeError(`column ${column} is no truth value`);
  }

  bytes(column: string): Uint8Array {
    const value = this.#columns[column];
    if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
    return value;
  }
}

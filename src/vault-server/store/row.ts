import type { SQLOutputValue } from "node:sqlite";

/** One row of a result, read by column and kind. @throws TypeError when the column holds something else */
export class Row {
  readonly #columns: Record<string, SQLOutputValue>;

  constructor(columns: Record<string, SQLOutputValue>) {
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

  bytes(column: string): Uint8Array {
    const value = this.#columns[column];
    if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
    return value;
  }
}

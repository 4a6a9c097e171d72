import type { SqlValue } from "./sql-connection.ts";

/** One row of a result, read by column and kind. @throws TypeError when the column holds something else */
export class Row {
  readonly #places: ReadonlyMap<string, number>;
  readonly #values: readonly unknown[];

  /** @param places where each column's value is in `values` */
  constructor(places: ReadonlyMap<string, number>, values: readonly unknown[]) {
    this.#places = places;
    this.#values = values;
  }

  #value(column: string): unknown {
    return this.#values[this.#places.get(column) ?? -1];
  }

  text(column: string): string {
    const value = this.#value(column);
    if (typeof value !== "string") throw new TypeError(`column ${column} is no text`);
    return value;
  }

  number(column: string): number {
    const value = this.#value(column);
    if (typeof value !== "number") throw new TypeError(`column ${column} is no number`);
    return value;
  }

  /** Of whatever kind. */
  value(column: string): SqlValue {
    const value = this.#value(column);
    if (typeof value === "string" || typeof value === "number" || value instanceof Uint8Array) return value;
    throw new TypeError(`column ${column} is neither text nor number nor bytes`);
  }

  /** SQLite answers conditions with 0 or 1. */
  boolean(column: string): boolean {
    const value = this.#value(column);
    if (value === true || value === 1) return true;
    if (value === false || value === 0) return false;
    throw new TypeError(`column ${column} is no truth value`);
  }

  bytes(column: string): Uint8Array {
    const value = this.#value(column);
    if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
    return value;
  }
}

/** The places of columns with these names. */
export function placesOf(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name, place) => [name, place]));
}

/** A row as its driver gives it. @throws TypeError when it is no array of values */
export function valuesOf(row: unknown): readonly unknown[] {
  if (Array.isArray(row)) return row;
  throw new TypeError("a row is no array");
}

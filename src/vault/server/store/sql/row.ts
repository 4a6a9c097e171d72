import type { Permission } from "../../../../protocol/responses.ts";

/** A value of a placeholder or a column. */
export type SqlValue = string | number | Uint8Array;

/**
 * One row of a result, read by column and type. @throws TypeError when the column has another type
 */
export class Row {
  readonly #positions: ReadonlyMap<string, number>;
  readonly #values: readonly unknown[];

  /** @param positions index of each column in `values` */
  constructor(positions: ReadonlyMap<string, number>, values: readonly unknown[]) {
    this.#positions = positions;
    this.#values = values;
  }

  #value(column: string): unknown {
    return this.#values[this.#positions.get(column) ?? -1];
  }

  text(column: string): string {
    const value = this.#value(column);
    if (typeof value !== "string") throw new TypeError(`column ${column}: expected text`);
    return value;
  }

  number(column: string): number {
    const value = this.#value(column);
    if (typeof value !== "number") throw new TypeError(`column ${column}: expected a number`);
    return value;
  }

  /** Returns the value of any type. */
  value(column: string): SqlValue {
    const value = this.#value(column);
    if (typeof value === "string" || typeof value === "number" || value instanceof Uint8Array)
      return value;
    throw new TypeError(`column ${column}: expected text, a number or bytes`);
  }

  /** Accepts 0 and 1 too: SQLite returns them for conditions. */
  boolean(column: string): boolean {
    const value = this.#value(column);
    if (value === true || value === 1) return true;
    if (value === false || value === 0) return false;
    throw new TypeError(`column ${column}: expected a boolean`);
  }

  bytes(column: string): Uint8Array {
    const value = this.#value(column);
    if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column}: expected bytes`);
    return value;
  }
}

/** Returns the position of each column. */
export function positionsOf(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name, position) => [name, position]));
}

/**
 * Returns the values of a row as the driver returned it. @throws TypeError when it is not an array
 */
export function valuesOf(row: unknown): readonly unknown[] {
  if (Array.isArray(row)) return row;
  throw new TypeError("a row: expected an array");
}

/**
 * Returns a permission as the columns `reads` and `writes`: the union of grants is the maximum of
 * each column.
 */
export function permissionColumns(permission: Permission): [reads: number, writes: number] {
  return [permission === "W" ? 0 : 1, permission === "R" ? 0 : 1];
}

export function permissionOf(row: Row): Permission {
  if (row.number("writes") === 0) return "R";
  return row.number("reads") === 0 ? "W" : "RW";
}

import type { JsonObject } from "../../../lib/is-object.ts";

/**
 * Returns the first of these fields that is present and not `null`. Reads own properties only: no
 * name reaches a prototype.
 */
export function field(object: JsonObject, ...names: readonly string[]): unknown {
  for (const name of names) {
    if (!Object.hasOwn(object, name)) continue;
    const value = object[name];
    if (value !== null && value !== undefined) return value;
  }
  return undefined;
}

/**
 * Parses a number or a string of digits. Returns `undefined` for anything else, and beyond exact
 * integers.
 */
export function readCount(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0
    ? number
    : undefined;
}

/** Returns a non-empty, well-formed string; `undefined` for anything else. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.isWellFormed() ? value : undefined;
}

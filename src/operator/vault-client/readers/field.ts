import type { JsonObject } from "../../../lib/is-object.ts";

/**
 * Numbers from here on are milliseconds since the epoch, smaller ones seconds: 10¹¹ s is the year
 * 5138, 10¹¹ ms is 1973.
 */
const MILLISECONDS_FROM = 1e11;

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

/**
 * Parses ISO 8601 or an epoch number into milliseconds since the epoch. Returns `undefined` for
 * anything else.
 */
export function readTimestamp(value: unknown): number | undefined {
  if (typeof value === "number" && value > 0)
    return value < MILLISECONDS_FROM ? value * 1000 : value;
  const timestamp =
    typeof value === "string" && /^\d{4}-\d{2}-\d{2}|^[+-]\d{6}-/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  return Number.isNaN(timestamp) ? undefined : timestamp;
}

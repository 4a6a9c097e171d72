import type { JsonObject } from "../../../lib/is-object.ts";

/** Above this an epoch is in milliseconds, below in seconds: 10¹¹ s is the year 5138, 10¹¹ ms is 1973. */
const MILLISECONDS_FROM = 1e11;

/** The first of these that is there; `null` counts as not there. Only own properties, so that no name can reach a prototype. */
export function field(object: JsonObject, ...names: readonly string[]): unknown {
  for (const name of names) {
    if (!Object.hasOwn(object, name)) continue;
    const value = object[name];
    if (value !== null && value !== undefined) return value;
  }
  return undefined;
}

/** A count as a number or a digit string; `undefined` for anything else, also beyond exact integers. */
export function readCount(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.isWellFormed() ? value : undefined;
}

/** A moment as milliseconds since the epoch, from ISO 8601 or an epoch; `undefined` for anything else. */
export function readMoment(value: unknown): number | undefined {
  if (typeof value === "number" && value > 0) return value < MILLISECONDS_FROM ? value * 1000 : value;
  const moment = typeof value === "string" && /^\d{4}-\d{2}-\d{2}|^[+-]\d{6}-/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(moment) ? undefined : moment;
}

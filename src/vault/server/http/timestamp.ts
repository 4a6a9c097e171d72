import type { Timestamp } from "../../../protocol/responses.ts";

const LATEST_DATE_MS = 8.64e15;
const DAY_MS = 86_400_000;
/** Maximum number of cached dates: a list of many secrets repeats the same few. */
const MAX_CACHED_DATES = 1000;

const dates = new Map<number, string>();

/** Formats `2026-11-21T`. */
function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const date = new Date(day * DAY_MS).toISOString().slice(0, -"00:00:00.000Z".length);
  if (dates.size >= MAX_CACHED_DATES) dates.clear();
  dates.set(day, date);
  return date;
}

/** The numbers below `count` with leading zeros. */
function numbers(count: number, length: number): string[] {
  return Array.from({ length: count }, (_, number) => String(number).padStart(length, "0"));
}

const minutes = numbers(24, 2).flatMap((hour) =>
  numbers(60, 2).map((minute) => `${hour}:${minute}:`),
);
const seconds = numbers(60, 2);
const thousandths = numbers(1000, 3);

/** Formats `13:07:00.042Z`. */
function timeOf(ms: number): string {
  return `${minutes[Math.floor(ms / 60_000)]}${seconds[Math.floor(ms / 1000) % 60]}.${thousandths[ms % 1000]}Z`;
}

/**
 * Formats whole milliseconds since the epoch as ISO 8601; beyond the range of JavaScript dates,
 * returns the number.
 */
export function timestamp(ms: number): Timestamp {
  if (ms > LATEST_DATE_MS) return ms;
  const day = Math.floor(ms / DAY_MS);
  return dateOf(day) + timeOf(ms - day * DAY_MS);
}

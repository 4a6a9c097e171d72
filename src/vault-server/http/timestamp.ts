import type { Timestamp } from "../../protocol/responses.ts";

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

/** Formats `13:07:00.042Z`. */
function timeOf(ms: number): string {
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1000) % 60];
  return `${digits(hours, 2)}:${digits(minutes, 2)}:${digits(seconds, 2)}.${digits(ms % 1000, 3)}Z`;
}

function digits(count: number, length: number): string {
  return String(count).padStart(length, "0");
}

/** Formats whole milliseconds since the epoch as ISO 8601; beyond the range of JavaScript dates, returns the number. */
export function timestamp(ms: number): Timestamp {
  if (ms > LATEST_DATE_MS) return ms;
  const day = Math.floor(ms / DAY_MS);
  return dateOf(day) + timeOf(ms - day * DAY_MS);
}

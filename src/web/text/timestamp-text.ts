import type { Timestamp } from "../../protocol/responses.ts";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

const DAY = 86_400_000;

/** Units and their lengths in milliseconds. */
const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365.25 * DAY],
  ["month", 30.44 * DAY],
  ["day", DAY],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** Milliseconds since the epoch. */
export function millisecondsOf(moment: Timestamp): number {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/** `in 3 days`, `2 hours ago`, `just now`. Months from two on: until then days say more. */
export function relativeMoment(moment: Timestamp, now: number): string {
  const distance = millisecondsOf(moment) - now;
  const step = steps.find(([unit, length]) => Math.abs(distance) >= (unit === "month" ? 2 * length : length));
  if (!step) return distance > 0 ? "in less than a minute" : "just now";
  const [unit, length] = step;
  return relative.format(Math.round(distance / length), unit);
}

/** Date, time and time zone in words; a moment beyond the calendar as its milliseconds. */
export function exactMoment(moment: Timestamp): string {
  const date = new Date(millisecondsOf(moment));
  return Number.isNaN(date.getTime()) ? `${moment} ms after 1970` : exact.format(date);
}

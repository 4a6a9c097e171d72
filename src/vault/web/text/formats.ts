import type { Timestamp } from "../../../protocol/responses.ts";

/** Returns a function that makes a value when it is called first. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** The browser's formats of numbers and times. */
export const formats = {
  number: once(() => new Intl.NumberFormat("en")),
  /** Rounded up: a file above a limit is not shown as the limit. */
  size: once(
    () => new Intl.NumberFormat("en", { maximumSignificantDigits: 3, roundingMode: "ceil" }),
  ),
  distance: once(() => new Intl.RelativeTimeFormat("en", { numeric: "always" })),
  shortDistance: once(
    () => new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" }),
  ),
  exactTime: once(() => new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" })),
  timeOfDay: once(() => new Intl.DateTimeFormat("en-GB", { timeStyle: "short" })),
};

/**
 * Makes the formats of a list. The first format of a page loads the data of its language, for longer
 * than a list renders: call it while a response is awaited.
 */
export function loadFormats(): void {
  formats.number();
  formats.distance();
  formats.exactTime();
}

const units = ["KiB", "MiB", "GiB", "TiB"];

/** Formats a number of bytes with a unit, in powers of 1024 as the limits of the vault. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${formats.size().format(bytes / 1024 ** power)} ${units[power - 1] ?? ""}`;
}

/** Returns a number of secrets in words: `1 secret`, `2 secrets`. */
export const secretCount = (count: number): string => `${count} secret${count === 1 ? "" : "s"}`;

const DAY = 86_400_000;

/** Units and their lengths in milliseconds. */
const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365.25 * DAY],
  ["month", 30.44 * DAY],
  ["day", DAY],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** Converts a timestamp to milliseconds since the epoch. */
export function millisecondsOf(timestamp: Timestamp): number {
  return typeof timestamp === "number" ? timestamp : Date.parse(timestamp);
}

/** Returns `in 3 days`, `2 hours ago` or `just now`. */
export function relativeTime(timestamp: Timestamp, now: number): string {
  return formatDistance(formats.distance(), timestamp, now);
}

/** Returns `in 3 min.` or `2 hr. ago`, for a narrow column. */
export function shortRelativeTime(timestamp: Timestamp, now: number): string {
  return formatDistance(formats.shortDistance(), timestamp, now);
}

/**
 * Uses months from two months on, because days
 * are more precise until then.
 */
function formatDistance(
  format: Intl.RelativeTimeFormat,
  timestamp: Timestamp,
  now: number,
): string {
  const distance = millisecondsOf(timestamp) - now;
  const step = steps.find(
    ([unit, length]) => Math.abs(distance) >= (unit === "month" ? 2 * length : length),
  );
  if (!step && distance <= 0) return "just now";
  if (!step) return format === formats.shortDistance() ? "in < 1 min." : "in less than a minute";
  const [unit, length] = step;
  return format.format(Math.round(distance / length), unit);
}

/** Formats a time for a `datetime-local` field, in the time zone of the browser. */
export function localTime(milliseconds: number): string {
  const date = new Date(milliseconds);
  const local = new Date(milliseconds - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, "2026-11-21T12:00".length);
}

/** Formats the time of day in the time zone of the browser: `07:02`. */
export function timeOfDay(milliseconds: number): string {
  return formats.timeOfDay().format(milliseconds);
}

/**
 * Returns date, time and time zone in words, or the milliseconds of a timestamp beyond the
 * calendar.
 */
export function exactTime(timestamp: Timestamp): string {
  const date = new Date(millisecondsOf(timestamp));
  return Number.isNaN(date.getTime())
    ? `${timestamp} ms after 1970`
    : formats.exactTime().format(date);
}

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

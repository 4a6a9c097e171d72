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

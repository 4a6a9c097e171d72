const UNIT_MS = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** Regular expression of a duration in Go's notation. */
export const DURATION_PATTERN = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";
const WHOLE = new RegExp(DURATION_PATTERN);
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g;

/**
 * Parses a duration such as `90s`, `5m` or `1h30m` and returns milliseconds.
 * @throws RangeError when the text is not a duration
 */
export function parseDuration(text: string): number {
  if (!WHOLE.test(text))
    throw new RangeError(`"${text}" is not a duration; expected for example 90s, 5m or 1h30m`);
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART))
    total += Number(amount) * (UNIT_MS.get(unit ?? "") ?? 0);
  return total;
}

/** Regular expression of a long time: minutes, hours or days. */
export const LONG_DURATION_PATTERN = "^[1-9][0-9]{0,4}[mhd]$";

/** Parses a long time such as `90m`, `36h` or `7d`, and returns milliseconds. It is valid. */
export function parseLongDuration(text: string): number {
  return Number(text.slice(0, -1)) * (UNIT_MS.get(text.slice(-1)) ?? 0);
}

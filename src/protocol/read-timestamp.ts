/**
 * Numbers from here on are milliseconds since the epoch, smaller ones seconds: 10¹¹ s is the year
 * 5138, 10¹¹ ms is 1973.
 */
const MILLISECONDS_FROM = 1e11;

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

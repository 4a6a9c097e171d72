/**
 * The range of RFC 3339, whose years have four digits. Deadlines of a vault may lie far outside of
 * it.
 */
const FIRST_TIMESTAMP = Date.parse("0000-01-01T00:00:00.000Z");
const LAST_TIMESTAMP = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * Formats milliseconds since the epoch as RFC 3339. Returns `undefined` for no timestamp or one
 * outside the range.
 */
export function formatTimestamp(at: number | undefined): string | undefined {
  return at !== undefined && at >= FIRST_TIMESTAMP && at <= LAST_TIMESTAMP
    ? new Date(at).toISOString()
    : undefined;
}

/** Parses a timestamp of a status and returns milliseconds; `undefined` if it is none. */
export function parseTimestamp(text = ""): number | undefined {
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

export const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 600_000;

const SECONDS = /^-?\d+$/;
const HTTP_DATE = /^[A-Z][a-z]{2,8}, /;

function milliseconds(header: string, now: number): number {
  if (SECONDS.test(header)) return Number(header) * 1000;
  return HTTP_DATE.test(header) ? Date.parse(header) - now : Number.NaN;
}

/**
 * Parses a `retry-after` header and returns milliseconds, clamped to 1 s … 10 min; `undefined` when
 * it is missing or malformed.
 * @param now wall-clock time in milliseconds, for a header that is a date
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const wait = milliseconds(header?.trim() ?? "", now);
  return Number.isNaN(wait)
    ? undefined
    : Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, wait));
}

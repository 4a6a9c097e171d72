const SHORTEST_MS = 1_000;
const LONGEST_MS = 600_000;

/**
 * Milliseconds that a `Retry-After` asks for, in seconds or as an HTTP date, clamped to 1 s … 10 min; `undefined` when it says nothing
 * readable.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^-?\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}

import type { Clock } from "../../../lib/clock.ts";
import { jitter, type Random } from "../../../lib/random.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { TokenScope } from "./requested-scope.ts";

const DAY_MS = 86_400_000;
const MIN_LIFETIME_MS = 60_000;
/** Keeps timestamps within the range of a date. */
const MAX_LIFETIME_MS = 36_500 * DAY_MS;
/** Half of the 90 idle days after which a refresh token expires. */
const MAX_REFRESH_MS = 45 * DAY_MS;

/** An access token in use. */
export interface Token {
  readonly access: Redacted<string>;
  readonly refresh: Redacted<string> | undefined;
  /** Scope requested at its login; `undefined` for a stored token, whose scope is not known. */
  readonly scope: TokenScope | undefined;
  /** Wall-clock time of the login or refresh, for display. */
  readonly refreshedAt: number;
  /** Wall-clock time of the expiry, for display. */
  readonly expiresAt: number;
  /** Monotonic time from which the token is refreshed. */
  readonly refreshDueMonotonic: number;
  readonly expiresAtMonotonic: number;
}

/**
 * Returns a token that has just arrived. Its lifetime in milliseconds starts now and is clamped to
 * 1 minute … 100 years; a refresh is due after 2/3 of it ± 10 %, at the latest after 45 days.
 */
export function tokenFrom(
  parts: Pick<Token, "access" | "refresh" | "scope">,
  requestedLifetimeMs: number,
  clock: Clock,
  random: Random,
): Token {
  const lifetime = Math.min(MAX_LIFETIME_MS, Math.max(MIN_LIFETIME_MS, requestedLifetimeMs));
  const now = clock.monotonic();
  return {
    ...parts,
    refreshedAt: clock.now(),
    expiresAt: clock.now() + lifetime,
    refreshDueMonotonic: now + Math.min(MAX_REFRESH_MS, jitter(random, (lifetime * 2) / 3, 0.1)),
    expiresAtMonotonic: now + lifetime,
  };
}

import type { Clock } from "../../../lib/clock.ts";
import { jitter, type Random } from "../../../lib/random.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { TokenResponse } from "../readers/read-token.ts";

const DAY_MS = 86_400_000;
const MIN_LIFETIME_MS = 60_000;
/** Nobody waits for the end of a longer one, and moments stay within what a date can hold. */
const MAX_LIFETIME_MS = 36_500 * DAY_MS;
/** Half of the 90 idle days after which a refresh token lapses (the interface, "Lifecycle rules", 5). */
const MAX_REFRESH_MS = 45 * DAY_MS;

/** An access token in use. Deadlines are monotonic; `refreshedAt` and `expiresAt` are the wall clock's, to be shown. */
export interface Token {
  readonly access: Redacted<string>;
  readonly refresh: Redacted<string> | undefined;
  readonly scope: string;
  readonly refreshedAt: number;
  readonly expiresAt: number;
  readonly refreshDue: number;
  readonly lapses: number;
}

export interface TokenDefaults {
  /** What was asked for, where the answer doesn't say. */
  readonly scope: string;
  readonly lifetimeMs: number;
  /** Kept where a refresh answers no new one. */
  readonly refresh: Redacted<string> | undefined;
}

/**
 * The token of an answer that arrived just now. Lifetimes are counted from the arrival and lie between a minute and a hundred years,
 * whatever the vault says; a refresh is due after 2/3 of it ± 10 %, and after 45 days at the latest.
 */
export function tokenFrom(answer: TokenResponse, defaults: TokenDefaults, clock: Clock, random: Random): Token {
  const said = answer.expiresInSeconds === undefined ? defaults.lifetimeMs : answer.expiresInSeconds * 1000;
  const lifetime = Math.min(MAX_LIFETIME_MS, Math.max(MIN_LIFETIME_MS, said));
  const now = clock.monotonic();
  return {
    access: answer.accessToken,
    refresh: answer.refreshToken ?? defaults.refresh,
    scope: answer.scope ?? defaults.scope,
    refreshedAt: clock.now(),
    expiresAt: clock.now() + lifetime,
    refreshDue: now + Math.min(MAX_REFRESH_MS, jitter(random, (lifetime * 2) / 3, 0.1)),
    lapses: now + lifetime,
  };
}

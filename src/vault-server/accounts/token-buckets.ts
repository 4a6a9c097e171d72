import type { Clock } from "../../lib/clock.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

interface Bucket {
  level: number;
  filledAt: number;
}

/** Rate limiter with one token bucket per key: `perSecond` sustained, bursts of `burst`. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  #levelOf(bucket: Bucket, now: number): number {
    return Math.min(this.#burst, bucket.level + ((now - bucket.filledAt) / 1000) * this.#perSecond);
  }

  /** Takes a token and returns 0, or returns the seconds until the next one. */
  take(key: string): number {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(key) ?? { level: this.#burst, filledAt: now };
    const level = this.#levelOf(bucket, now);
    if (level < 1) return (1 - level) / this.#perSecond;
    this.#buckets.set(key, { level: level - 1, filledAt: now });
    return 0;
  }

  /** Deletes the full buckets, which are equal to new ones. */
  prune(): void {
    const now = this.#clock.monotonic();
    for (const [key, bucket] of this.#buckets) if (this.#levelOf(bucket, now) >= this.#burst) this.#buckets.delete(key);
  }
}

/**
 * Counts a request of a valid token or session, by its digest, and of its account: a user can have any number of tokens.
 * @throws ServiceError `rate_limited` when there are too many
 */
export function countRequest({ requestRate }: VaultContext, { digest, email }: { digest: string; email: string }): void {
  const wait = requestRate.perToken.take(digest) || requestRate.perAccount.take(email);
  if (wait === 0) return;
  throw errors.tooManyRequests(wait * 1000);
}

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

  /** Reports whether `take` would admit nothing now. */
  isEmpty(key: string): boolean {
    const bucket = this.#buckets.get(key);
    return bucket !== undefined && this.#levelOf(bucket, this.#clock.monotonic()) < 1;
  }

  /** Takes more tokens for a request that `take` has admitted; a bucket that gets into debt admits none until it is filled again. */
  charge(key: string, tokens: number): void {
    const bucket = this.#buckets.get(key);
    if (bucket) bucket.level -= tokens;
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
  throw errors.tooManyRequests(wait * 1000, email);
}

/** Bytes of a large body that count as one request. */
const BODY_BYTES_PER_REQUEST = 128 * 1024;

/** Counts a large body of a valid token or session in addition to its request. @throws ServiceError `rate_limited` */
export function countLargeBody({ requestRate: { perToken } }: VaultContext, { digest }: { digest: string }, bytes: number): void {
  const wait = perToken.take(digest);
  if (wait > 0) throw errors.tooManyRequests(wait * 1000);
  perToken.charge(digest, Math.ceil(bytes / BODY_BYTES_PER_REQUEST) - 1);
}

/** The caller whose requests are counted. */
interface CountedCaller {
  readonly email: string;
  readonly credential: { readonly digest: string };
}

/** Counts a request as further ones, which later requests wait for. */
function charge({ requestRate }: VaultContext, { email, credential }: CountedCaller, further: number): void {
  if (further < 1) return;
  requestRate.perToken.charge(credential.digest, further);
  requestRate.perAccount.charge(email, further);
}

/** Changes that count as one request. */
const CHANGES_PER_REQUEST = 20;

/** Counts a request that changes much as several requests, in proportion to the work. */
export function chargeChanges(context: VaultContext, caller: CountedCaller, changes: number): void {
  charge(context, caller, Math.ceil(changes / CHANGES_PER_REQUEST) - 1);
}

/** Characters of a list that count as one request. */
const LENGTH_PER_REQUEST = 256 * 1024;

/** Counts a request as several for the text that it reads, in proportion to its length. */
export function chargeLength(context: VaultContext, caller: CountedCaller, length: number): void {
  charge(context, caller, Math.ceil(length / LENGTH_PER_REQUEST) - 1);
}

/** Passes the pieces of a list. Counts the request as several when they end, in proportion to their length. */
export async function* chargedByLength(
  context: VaultContext,
  caller: CountedCaller,
  pieces: AsyncIterable<string>,
): AsyncGenerator<string, void> {
  let length = 0;
  try {
    for await (const piece of pieces) {
      length += piece.length;
      yield piece;
    }
  } finally {
    chargeLength(context, caller, length);
  }
}

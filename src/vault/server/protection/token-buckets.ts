import type { Clock } from "../../../lib/clock.ts";
import type { Limits } from "../limits.ts";
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

  /**
   * Takes a token and returns 0, or returns the seconds until the next one; so many tokens are kept
   * for others.
   */
  take(key: string, kept = 0): number {
    const wait = this.wait(key, kept);
    if (wait === 0) this.charge(key, 1);
    return wait;
  }

  /** Returns the seconds until `take` takes a token; 0 when it does now. */
  wait(key: string, kept = 0): number {
    const bucket = this.#buckets.get(key);
    const level =
      bucket === undefined ? this.#burst : this.#levelOf(bucket, this.#clock.monotonic());
    return level < 1 + kept ? (1 + kept - level) / this.#perSecond : 0;
  }

  /** Reports whether `take` would admit nothing now. */
  isEmpty(key: string): boolean {
    return this.wait(key) > 0;
  }

  /**
   * Takes more tokens for a request that was admitted, but leaves at least `kept`; a bucket that
   * gets into debt admits none until it is filled again.
   */
  charge(key: string, tokens: number, kept = -Infinity): void {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(key) ?? { level: this.#burst, filledAt: now };
    const level = this.#levelOf(bucket, now);
    this.#buckets.set(key, {
      level: Math.min(level, Math.max(level - tokens, kept)),
      filledAt: now,
    });
  }

  /** Deletes the full buckets: they equal new ones. */
  prune(): void {
    const now = this.#clock.monotonic();
    for (const [key, bucket] of this.#buckets)
      if (this.#levelOf(bucket, now) >= this.#burst) this.#buckets.delete(key);
  }
}

interface RateLimit {
  /**
   * Returns 0, or the seconds until the next request is allowed. `kept` tokens stay for other
   * requests.
   */
  take(key: string, kept?: number): number;
  /** Reports whether `take` would admit nothing now. */
  isEmpty(key: string): boolean;
  /** Takes more tokens for a request that was allowed, but not the `kept` ones. */
  charge(key: string, tokens: number, kept?: number): void;
  prune(): void;
}

/**
 * Rate limits per access token or session (by digest), per login (by digest) and per account (by
 * email).
 */
export interface RequestRate {
  readonly perToken: RateLimit;
  readonly perLogin: RateLimit;
  readonly perAccount: RateLimit;
}

/** The parts of a server that count requests. */
interface Counting {
  readonly requestRate: RequestRate;
  readonly limits: Pick<Limits, "requestBurst">;
}

/** Request rate of an account in multiples of the rate of one token, and of one login. */
export const ACCOUNT_FACTOR = 4;

/** The credential that a request counts for. */
interface CountedCredential {
  readonly email: string;
  readonly digest: string;
  readonly login: string;
}

/**
 * Returns the requests of an account that a login beyond its own share leaves to the other logins:
 * half of a burst.
 */
function keptFrom(
  { requestRate: { perLogin }, limits: { requestBurst } }: Counting,
  login: string,
): number {
  return perLogin.isEmpty(login) ? (requestBurst * ACCOUNT_FACTOR) / 2 : 0;
}

/**
 * Counts a request of a valid token or session, by its digest, and of its account: a user can have
 * any number of tokens. The tokens of one login have a quarter of the rate of the account, and
 * beyond it what other logins do not need.
 * @throws ServiceError `rate_limited` when there are too many
 */
export function countRequest(context: Counting, { digest, login, email }: CountedCredential): void {
  const { requestRate } = context;
  const wait =
    requestRate.perToken.take(digest) ||
    requestRate.perAccount.take(email, keptFrom(context, login));
  if (wait === 0) requestRate.perLogin.take(login);
  if (wait === 0) return;
  throw errors.tooManyRequests(wait * 1000, email);
}

/** Bytes of a large body that count as one request. */
const BODY_BYTES_PER_REQUEST = 128 * 1024;

/**
 * Counts a large body of a valid token or session in addition to its request. @throws ServiceError
 * `rate_limited`
 */
export function countLargeBody(
  { requestRate: { perToken } }: Counting,
  { digest }: { digest: string },
  bytes: number,
): void {
  const wait = perToken.take(digest);
  if (wait > 0) throw errors.tooManyRequests(wait * 1000);
  perToken.charge(digest, Math.ceil(bytes / BODY_BYTES_PER_REQUEST) - 1);
}

/** The caller whose requests are counted. */
interface CountedCaller {
  readonly email: string;
  readonly credential: Pick<CountedCredential, "digest" | "login">;
}

/** Counts a request as further ones; later requests wait for them. */
function charge(context: Counting, { email, credential }: CountedCaller, further: number): void {
  if (further < 1) return;
  const { requestRate } = context;
  requestRate.perToken.charge(credential.digest, further);
  requestRate.perAccount.charge(email, further, keptFrom(context, credential.login) || undefined);
  requestRate.perLogin.charge(credential.login, further);
}

/** Changes that count as one request. */
const CHANGES_PER_REQUEST = 20;

/** Counts a request that changes much as several requests, in proportion to the work. */
export function chargeChanges(context: Counting, caller: CountedCaller, changes: number): void {
  charge(context, caller, Math.ceil(changes / CHANGES_PER_REQUEST) - 1);
}

/** Characters of a list that count as one request. */
const LENGTH_PER_REQUEST = 256 * 1024;

/** Counts a request as several for the text that it reads, in proportion to its length. */
export function chargeLength(context: Counting, caller: CountedCaller, length: number): void {
  charge(context, caller, Math.ceil(length / LENGTH_PER_REQUEST) - 1);
}

/**
 * Passes the pieces of a list. Counts the request as several when they end, in proportion to their
 * length.
 */
export async function* chargedByLength(
  context: Counting,
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

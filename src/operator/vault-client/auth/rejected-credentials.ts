import type { Clock } from "../../../lib/clock.ts";
import { AuthError } from "../vault-error.ts";

const MINUTE_MS = 60_000;
/** Pauses after the first, second, … rejection in a row. */
const STEPS_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS);
const LONGEST_MS = 60 * MINUTE_MS;
/** Number of rejected credentials beyond which a tenant waits with its other credentials too. */
const MAX_OF_TENANT = 8;
/** The same for all tenants together: beyond it, only tenants with a rejected one wait. */
const MAX_OF_ACCOUNT = 32;

/** Identifies credentials in this process only. */
export type CredentialDigest = string;

/** When something may be tried again. */
interface Pause {
  /** Rejections in a row. */
  count: number;
  wall: number;
  monotonic: number;
}

interface Rejected {
  readonly pause: Pause;
  readonly error: AuthError;
}

interface Tenant {
  readonly pause: Pause;
  readonly rejected: Set<CredentialDigest>;
}

const noPause = (): Pause => ({ count: 0, wall: 0, monotonic: Number.NEGATIVE_INFINITY });

/**
 * The credentials of one account that the vault rejected, and for how long they are not sent again:
 * 1, 5, 15, then 60 minutes, whichever connection has them (docs/design/engine.md#rejected-logins).
 * A tenant is what has connections and their Secrets. Its rejected credentials wait together: one
 * of them is sent per step. No tenant makes the first credentials of another one wait.
 */
export class RejectedCredentials {
  readonly #clock: Clock;
  readonly #rejected = new Map<CredentialDigest, Rejected>();
  readonly #tenants = new Map<string, Tenant>();
  /** Credentials that the vault accepted last. Guesses do not delay them. */
  readonly #accepted = new Set<CredentialDigest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a rejection of these credentials. Returns the error to throw, with the time until the
   * next attempt.
   */
  reject(tenant: string, digest: CredentialDigest, error: AuthError): AuthError {
    this.#forgetOld();
    this.#accepted.delete(digest);
    const { pause: own } = this.#add(tenant, digest, error);
    const { pause } = this.#rejected.get(digest) ?? { pause: own };
    const waitMs = STEPS_MS[Math.max(own.count, pause.count)] ?? LONGEST_MS;
    own.count += 1;
    pause.count += 1;
    this.#pauseFor(own, waitMs);
    this.#pauseFor(pause, waitMs);
    return this.paused(tenant, digest) ?? error;
  }

  /** Others stay rejected: a correct password says nothing about an outdated one elsewhere. */
  accept(digest: CredentialDigest): void {
    this.#accepted.add(digest);
    this.#rejected.delete(digest);
    for (const [name, { rejected }] of this.#tenants) {
      if (rejected.delete(digest) && rejected.size === 0) this.#tenants.delete(name);
    }
  }

  /**
   * Returns the error to throw instead of using the credentials, or `undefined` when they may be
   * tried.
   */
  paused(tenant: string, digest: CredentialDigest): AuthError | undefined {
    const until = this.#pauseOf(tenant, digest);
    if (until === undefined) return undefined;
    const error =
      this.#rejected.get(digest)?.error ??
      new AuthError("generate_access_token", "too_many_rejected");
    return new AuthError(error.operation, error.code, until.monotonic - this.#clock.monotonic());
  }

  /** Returns the end of the pause of these credentials in milliseconds since the epoch. */
  pausedUntil(tenant: string, digest: CredentialDigest): number | undefined {
    return this.#pauseOf(tenant, digest)?.wall;
  }

  /**
   * Continues a pause that an earlier process began. `until` is in milliseconds since the epoch,
   * and limited to an hour.
   */
  restore(tenant: string, digest: CredentialDigest, until: number): void {
    const leftMs = Math.min(until - this.#clock.now(), LONGEST_MS);
    if (leftMs <= 0) return;
    const { pause: own } = this.#add(
      tenant,
      digest,
      new AuthError("generate_access_token", "credentials"),
    );
    const count = STEPS_MS.filter((step) => step < leftMs).length + 1;
    for (const pause of [own, this.#rejected.get(digest)?.pause]) {
      if (pause === undefined || this.#clock.monotonic() + leftMs <= pause.monotonic) continue;
      pause.count = count;
      this.#pauseFor(pause, leftMs);
    }
  }

  #add(tenant: string, digest: CredentialDigest, error: AuthError): Tenant {
    this.#rejected.set(digest, { pause: this.#rejected.get(digest)?.pause ?? noPause(), error });
    const known = this.#tenants.get(tenant) ?? { pause: noPause(), rejected: new Set() };
    known.rejected.delete(digest);
    known.rejected.add(digest);
    // Further ones change nothing for this tenant, and must not count against other tenants.
    const [oldest] = known.rejected;
    if (oldest !== undefined && known.rejected.size > MAX_OF_TENANT + 1)
      known.rejected.delete(oldest);
    this.#tenants.set(tenant, known);
    return known;
  }

  /**
   * Returns the later of the pauses, of the credentials and of the tenant, that concern these
   * credentials and have not ended.
   */
  #pauseOf(tenant: string, digest: CredentialDigest): Pause | undefined {
    const rejected = this.#rejected.get(digest);
    const own = this.#tenants.get(tenant);
    const isConcerned =
      own !== undefined &&
      (own.rejected.has(digest) || (this.#hasTooMany(own) && !this.#accepted.has(digest)));
    const [until] = [rejected?.pause, isConcerned ? own.pause : undefined]
      .filter((pause) => pause !== undefined && pause.monotonic > this.#clock.monotonic())
      .sort((a, b) => (b?.monotonic ?? 0) - (a?.monotonic ?? 0));
    return until;
  }

  #hasTooMany({ rejected }: Tenant): boolean {
    return (
      rejected.size > MAX_OF_TENANT || (rejected.size > 0 && this.#rejected.size > MAX_OF_ACCOUNT)
    );
  }

  /**
   * Forgets what was not rejected for an hour after its pause: its next pause is a minute again.
   */
  #forgetOld(): void {
    const isOld = ({ monotonic }: Pause): boolean =>
      this.#clock.monotonic() > monotonic + LONGEST_MS;
    for (const [name, { pause }] of this.#tenants) if (isOld(pause)) this.#tenants.delete(name);
    for (const [digest, { pause }] of this.#rejected) {
      if (!isOld(pause) || [...this.#tenants.values()].some(({ rejected }) => rejected.has(digest)))
        continue;
      this.#rejected.delete(digest);
    }
  }

  #pauseFor(pause: Pause, ms: number): void {
    pause.wall = this.#clock.now() + ms;
    pause.monotonic = this.#clock.monotonic() + ms;
  }
}

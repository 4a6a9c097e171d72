import type { Timer, Clock } from "../../../lib/clock.ts";
import { Deadline } from "../../lib/deadline.ts";
import { isKubeError } from "../kube-error.ts";
import type { WriteFence, KubeApi } from "../client/kube-api.ts";
import { releasedLease, heldLease, readLease, type LeaseRecord } from "./lease-record.ts";
import { LEASES } from "../resource.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { RequestProblems } from "../request-problems.ts";

export interface LeaseOptions {
  /** A client with a separate connection and without a fence: no other request delays a renewal. */
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Unique to this process and not only to the pod: a restarted process is another holder. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Receives why the Lease cannot be taken. */
  readonly problems?: RequestProblems | undefined;
  readonly timing?: LeaseTiming;
}

export interface LeaseTiming {
  /** Time that other candidates wait after an observed renewal, in milliseconds. */
  readonly durationMs: number;
  /**
   * Time after its last renewal during which the holder may send a write. Half of the rest is for
   * the write to end.
   */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** The defaults of controller-runtime: 15 s, 10 s, 2 s. */
export const LEASE_TIMING: LeaseTiming = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
};

/**
 * A time on both clocks: the monotonic one does not advance while a machine is suspended, and the
 * wall clock may be set back.
 */
interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

/** Returns the current time on both clocks. */
export function instantOf(clock: Clock): Instant {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** Returns the time in milliseconds since `start`: the longer one of both clocks. */
function elapsedSince(start: Instant, clock: Clock): number {
  return Math.max(clock.monotonic() - start.monotonic, clock.now() - start.wall);
}

/**
 * Holds the Lease: renews it until it is released or lost.
 *
 * It is the fence of writes: `mayWrite` returns false from `renewDeadlineMs` after the last renewal
 * was *sent*, well before another process may take the Lease, even if this process or its machine
 * was suspended in between. `lost` is aborted soon after. A lost Lease is never regained.
 */
export class Leadership implements WriteFence, AsyncDisposable {
  readonly #options: LeaseOptions & { readonly timing: LeaseTiming };
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;
  #record: LeaseRecord;
  /** The time at which the last renewal was sent. */
  #renewedAt: Instant;
  #fenceTimer: Timer;

  /** @param sentAt time at which the request that took the Lease was sent */
  constructor(
    options: LeaseOptions & { readonly timing: LeaseTiming },
    record: LeaseRecord,
    sentAt: Instant,
  ) {
    this.#options = options;
    this.#record = record;
    this.#renewedAt = sentAt;
    this.#fenceTimer = this.#armFence();
    this.#renewing = this.#renew();
  }

  /**
   * Aborted when the Lease was not renewed in time or another process took it; not by `release`.
   */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Reports whether this process may write; call it directly before each write. */
  mayWrite(): boolean {
    return !this.#ended.signal.aborted && this.#elapsed < this.#options.timing.renewDeadlineMs;
  }

  /**
   * Returns the time within which a write has to end: before another process may take the Lease.
   */
  writeTimeoutMs(): number {
    const { durationMs, renewDeadlineMs } = this.#options.timing;
    return (durationMs + renewDeadlineMs) / 2 - this.#elapsed;
  }

  /**
   * Releases the Lease: the next leader does not wait until it expires. Call it when no write is in
   * flight: `mayWrite` returns false from now on. Never rejects; if the API server is unavailable,
   * the Lease expires by itself.
   */
  async release(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { api, clock, name, timing, logger } = this.#options;
    this.#end();
    await this.#renewing;
    using deadline = new Deadline(clock, timing.retryMs, new AbortController().signal);
    try {
      await api.replace(
        LEASES,
        releasedLease(this.#record, this.#options, clock.now()),
        deadline.signal,
      );
      logger.info({ lease: name }, "released lease");
    } catch (error) {
      logger.warn(
        { lease: name, reason: isKubeError(error) ? error.message : "Timeout" },
        "failed to release lease",
      );
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  get #elapsed(): number {
    return elapsedSince(this.#renewedAt, this.#options.clock);
  }

  async #renew(): Promise<void> {
    const { clock, timing, logger, name } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await clock.sleep(timing.retryMs, signal);
        await this.#renewOnce(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn(
          { lease: name, reason: isKubeError(error) ? error.message : "Timeout" },
          "failed to renew lease",
        );
        if (isKubeError(error, "Conflict", "NotFound")) await this.#recheck(signal);
      }
    }
  }

  async #renewOnce(signal: AbortSignal): Promise<void> {
    const { api, clock, identity, timing } = this.#options;
    // At least two attempts fit into the renew deadline.
    using deadline = new Deadline(clock, timing.renewDeadlineMs / 2, signal);
    const sentAt = instantOf(clock);
    const object = heldLease(this.#record, this.#options, identity, timing.durationMs, clock.now());
    // A renewal changes nothing of the record but the version of its object.
    this.#record = { ...this.#record, object: await api.replace(LEASES, object, deadline.signal) };
    this.#renewedAt = sentAt;
    this.#fenceTimer[Symbol.dispose]();
    this.#fenceTimer = this.#armFence();
  }

  /**
   * Reads the Lease after a conflict. The cause is another holder, or an own renewal whose response
   * was lost.
   */
  async #recheck(signal: AbortSignal): Promise<void> {
    const { api, clock, namespace, name, identity, timing } = this.#options;
    using deadline = new Deadline(clock, timing.retryMs, signal);
    try {
      const record = readLease(await api.get(LEASES, { namespace, name }, deadline.signal));
      if (record.holder === identity) this.#record = record;
      else this.#lose("taken by another process");
    } catch (error) {
      if (isKubeError(error, "NotFound")) this.#lose("deleted");
    }
  }

  #armFence(): Timer {
    const { clock, timing } = this.#options;
    return clock.timer(timing.renewDeadlineMs - this.#elapsed, () =>
      this.#lose("renew deadline exceeded"),
    );
  }

  #lose(why: string): void {
    if (this.#ended.signal.aborted) return;
    this.#options.logger.error({ lease: this.#options.name, why }, "lost lease");
    this.#end();
    this.#lost.abort(new Error(`lost lease: ${why}`));
  }

  #end(): void {
    this.#fenceTimer[Symbol.dispose]();
    this.#ended.abort(new Error("leadership ended"));
  }
}

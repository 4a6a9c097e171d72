import type { Timer } from "../../../lib/clock.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { isKubeError } from "../kube-error.ts";
import { freedLease, heldLease, readLease, type LeaseRecord } from "./lease-record.ts";
import type { LeaseOptions, LeaseTiming } from "./lease-options.ts";
import { LEASES } from "../resource.ts";

/**
 * The Lease while it is ours: renewed until it is released, or lost.
 *
 * `mayWrite` is the fence: it says no from `renewDeadlineMs` after the last renewal was *sent* on, well before anybody else may take
 * the Lease, also when this process was stopped in between. `lost` is aborted no later. Once lost, it stays lost.
 */
export class Leadership implements AsyncDisposable {
  readonly #options: LeaseOptions & { readonly timing: LeaseTiming };
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;
  #record: LeaseRecord;
  #fence: number;
  #fenceTimer: Timer;

  /** @param since when, on the monotonic clock, the request that took the Lease was sent */
  constructor(options: LeaseOptions & { readonly timing: LeaseTiming }, record: LeaseRecord, since: number) {
    this.#options = options;
    this.#record = record;
    this.#fence = since + options.timing.renewDeadlineMs;
    this.#fenceTimer = this.#armFence();
    this.#renewing = this.#renew();
  }

  /** Aborted when the Lease could not be renewed in time or is another's. Not by `release`. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** To be asked directly before each write. */
  mayWrite(): boolean {
    return !this.#ended.signal.aborted && this.#options.clock.monotonic() < this.#fence;
  }

  /**
   * Gives the Lease back, so that another one need not wait for its end. To be called when nothing writes any more: `mayWrite` says no
   * from here on. Never rejects; where the API server cannot be told, the Lease runs out by itself.
   */
  async release(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    const { api, clock, namespace, name, timing, logger } = this.#options;
    this.#end();
    await this.#renewing;
    using deadline = new Deadline(clock, timing.retryMs, new AbortController().signal);
    try {
      await api.replace(LEASES, freedLease(this.#record, { namespace, name }, clock.now()), deadline.signal);
      logger.info({ lease: name }, "released lease");
    } catch (error) {
      logger.warn({ lease: name, reason: isKubeError(error) ? error.message : "Timeout" }, "failed to release lease");
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
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
        logger.warn({ lease: name, reason: isKubeError(error) ? error.message : "Timeout" }, "failed to renew lease");
        if (isKubeError(error, "Conflict", "NotFound")) await this.#look(signal);
      }
    }
  }

  async #renewOnce(signal: AbortSignal): Promise<void> {
    const { api, clock, namespace, name, identity, timing } = this.#options;
    // Two attempts at least fit into the time there is.
    using deadline = new Deadline(clock, timing.renewDeadlineMs / 2, signal);
    const since = clock.monotonic();
    const object = heldLease(this.#record, { namespace, name }, identity, timing.durationMs, clock.now());
    this.#record = readLease(await api.replace(LEASES, object, deadline.signal));
    this.#fence = since + timing.renewDeadlineMs;
    this.#fenceTimer[Symbol.dispose]();
    this.#fenceTimer = this.#armFence();
  }

  /** A conflict is either another holder, or our own renewal whose answer was lost. */
  async #look(signal: AbortSignal): Promise<void> {
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
    const { clock } = this.#options;
    return clock.timer(this.#fence - clock.monotonic(), () => this.#lose("renew deadline exceeded"));
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

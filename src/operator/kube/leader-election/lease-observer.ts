import type { Clock } from "../../../lib/clock.ts";
import type { LeaseRecord } from "./lease-record.ts";

/**
 * Judges when the holder of a Lease has lost it: not from the times written in it, because clocks
 * differ.
 */
export class LeaseObserver {
  readonly #clock: Clock;
  /** The last observed state of the Lease and the monotonic time of its first observation. */
  #observed: { readonly resourceVersion: string | undefined; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the time in ms since the last observed renewal, 0 at the first observation. */
  idleMs({ object: { metadata } }: LeaseRecord): number {
    const now = this.#clock.monotonic();
    if (
      this.#observed === undefined ||
      this.#observed.resourceVersion !== metadata.resourceVersion
    ) {
      this.#observed = { resourceVersion: metadata.resourceVersion, at: now };
    }
    return now - this.#observed.at;
  }

  /**
   * Reports whether another process may take the Lease: it has no holder, or one that did not renew
   * it for its duration.
   */
  isFree(record: LeaseRecord): boolean {
    return record.holder === "" || this.idleMs(record) >= record.durationMs;
  }
}

import type { Clock } from "../../../lib/clock.ts";

/**
 * Measures for each resource the time from the first list that showed a change to the write of the
 * target.
 */
export class Propagations {
  readonly #clock: Clock;
  readonly #onPropagated: (durationMs: number) => void;
  /**
   * Arrival, in monotonic milliseconds, of the first list that showed a change that no reconcile
   * has handled since, by key.
   */
  readonly #changedAt = new Map<string, number>();

  /** @param onPropagated called when a target was written because of a change in the vault */
  constructor(clock: Clock, onPropagated: (durationMs: number) => void) {
    this.#clock = clock;
    this.#onPropagated = onPropagated;
  }

  /** Starts a measurement, unless an earlier change is not handled yet. */
  changed(key: string, listedAt: number): void {
    if (!this.#changedAt.has(key)) this.#changedAt.set(key, listedAt);
  }

  /** Ends the measurement: the target was written. */
  written(key: string): void {
    const changedAt = this.#changedAt.get(key);
    if (changedAt === undefined) return;
    this.#changedAt.delete(key);
    this.#onPropagated(this.#clock.monotonic() - changedAt);
  }

  /** Returns the change that is measured, for `ended`. */
  current(key: string): number | undefined {
    return this.#changedAt.get(key);
  }

  /** Drops the measurement of a deleted resource. */
  forget(key: string): void {
    this.#changedAt.delete(key);
  }

  /**
   * Drops the measurement of a change that was handled and concerned nothing that the target holds;
   * a later change is kept.
   */
  ended(key: string, change: number | undefined): void {
    if (this.#changedAt.get(key) === change) this.#changedAt.delete(key);
  }
}

import type { Clock } from "../../../lib/clock.ts";

/** Longest and shortest time in seconds for which a vault is asked to hold a request. */
const MAX_HOLD_S = 50;
const MIN_HOLD_S = 5;
/** Time in seconds by which a request is held shorter than one that was cut. */
const MARGIN_S = 1;
/** Time in ms after which a longer hold is tried: the path may have changed. */
const LONGER_AFTER_MS = 3_600_000;

/**
 * Learns for how many seconds the path to a vault keeps a request open: a proxy may end it early.
 * One cut shortens the hold to a half at most, because the vault may have restarted just then; a
 * path that ends requests sooner does so again.
 */
export class HoldTime {
  readonly #clock: Clock;
  #seconds = MAX_HOLD_S;
  #longerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Longest time in seconds for the next held request; 0: the path holds no request. */
  get seconds(): number {
    const now = this.#clock.monotonic();
    if (now >= this.#longerAt)
      this.#set(this.#seconds === 0 ? MIN_HOLD_S : Math.min(MAX_HOLD_S, this.#seconds * 2), now);
    return this.#seconds;
  }

  /** Records that a held request was cut after so many ms, although the vault responds. */
  cut(afterMs: number): void {
    const half = Math.floor(this.#seconds / 2);
    const below = Math.floor(afterMs / 1_000) - MARGIN_S;
    const seconds = below < this.#seconds ? Math.max(half, below) : half;
    this.#set(seconds < MIN_HOLD_S ? 0 : seconds, this.#clock.monotonic());
  }

  #set(seconds: number, now: number): void {
    this.#seconds = seconds;
    this.#longerAt = seconds === MAX_HOLD_S ? Number.POSITIVE_INFINITY : now + LONGER_AFTER_MS;
  }
}

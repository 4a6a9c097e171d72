import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";

/**
 * Time in milliseconds between two reconciles of a resource because of edits: the first one, and
 * the longest one.
 */
const [FIRST_MS, LONGEST_MS] = [250, 4_000];

interface Window {
  /** Monotonic time of the reconcile that begins the window; it may be ahead. */
  readonly at: number;
  /** Maximum duration in milliseconds. */
  readonly ms: number;
}

/**
 * Decides when an edited resource is reconciled: immediately after 4 s without such a reconcile,
 * else at the end of the window that the last one began. The windows of a resource double from 250
 * ms to 4 s while its edits continue. Each window is cut at random, to at least half, to spread the
 * statuses of many edited resources. A resource that is edited all the time costs one reconcile and
 * one status per 2 to 4 s, and no edit waits longer.
 */
export class EditWindows {
  readonly #clock: Clock;
  readonly #random: Random;
  /** The last window of each resource, in the order of the edits that began them. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Number of resources that are remembered. */
  get size(): number {
    return this.#windows.size;
  }

  /**
   * Returns the time in milliseconds after which a resource that was edited now is to be
   * reconciled.
   */
  delay(key: string): number {
    const now = this.#clock.monotonic();
    const last = this.#windows.get(key);
    if (last !== undefined && now < last.at) return last.at - now;
    const next =
      last === undefined || hasEnded(last, now)
        ? { at: now, ms: FIRST_MS }
        : this.#following(last, now);
    this.#windows.delete(key);
    this.#windows.set(key, next);
    this.#forgetEnded(now);
    return next.at - now;
  }

  #following({ at, ms }: Window, now: number): Window {
    const length = ms * (0.5 + this.#random() / 2);
    return { at: Math.max(now, at + length), ms: Math.min(2 * ms, LONGEST_MS) };
  }

  #forgetEnded(now: number): void {
    for (const [key, window] of this.#windows) {
      if (!hasEnded(window, now)) return;
      this.#windows.delete(key);
    }
  }
}

const hasEnded = ({ at }: Window, now: number): boolean => now - at >= LONGEST_MS;

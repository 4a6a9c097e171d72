import type { Random } from "./random.ts";

export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. */
  readonly baseMs: number;
  /** Maximum delay, in milliseconds. */
  readonly maxMs: number;
  readonly factor?: number;
}

/**
 * Exponential backoff with jitter. The delay after the n-th failure is between half and the whole
 * of `base × factor^(n-1)`, at most `maxMs`. Call `reset` after a success.
 */
export class Backoff {
  #failures = 0;
  readonly #options: BackoffOptions;
  readonly #random: Random;

  constructor(options: BackoffOptions, random: Random) {
    this.#options = options;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure and returns the delay before the next attempt, in milliseconds. */
  next(): number {
    const { baseMs, maxMs, factor = 2 } = this.#options;
    const full = Math.min(maxMs, baseMs * factor ** Math.min(this.#failures, 60));
    this.#failures += 1;
    return full / 2 + (full / 2) * this.#random();
  }

  reset(): void {
    this.#failures = 0;
  }
}

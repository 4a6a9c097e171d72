/**
 * Runs up to `concurrency` jobs at a time and queues the others in order; throws `overflow()` when `maxWaiting` jobs are queued.
 */
export class HashingLimiter {
  readonly #concurrency: number;
  readonly #maxWaiting: number;
  readonly #overflow: () => Error;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(concurrency: number, maxWaiting: number, overflow: () => Error) {
    this.#concurrency = concurrency;
    this.#maxWaiting = maxWaiting;
    this.#overflow = overflow;
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#concurrency) {
      if (this.#waiting.length >= this.#maxWaiting) throw this.#overflow();
      // A finished job hands its slot over, so the count is unchanged.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return await job();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

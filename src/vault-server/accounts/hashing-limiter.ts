/** So many jobs at once, the others in order; `overflow` is thrown when too many already wait. */
export class HashingLimiter {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  readonly #overflow: () => Error;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number, maxWaiting: number, overflow: () => Error) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
    this.#overflow = overflow;
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#maxWaiting) throw this.#overflow();
      // Whoever finishes hands over the place, so the count stays.
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

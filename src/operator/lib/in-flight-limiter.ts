interface Waiter {
  readonly admit: () => void;
}

/**
 * Limits the number of requests in flight. A 429 halves the limit and a success raises it slightly
 * (additive increase, multiplicative decrease), between 1 and `max`.
 */
export class InFlightLimiter {
  readonly #max: number;
  readonly #waiters = new Set<Waiter>();
  #limit: number;
  #inFlight = 0;

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  /** Current maximum number of requests in flight. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Current share of the maximum. */
  get share(): number {
    return this.#limit / this.#max;
  }

  /**
   * Waits for a slot; disposing the result releases it. Rejects with the signal's reason when the
   * signal is aborted first.
   */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#inFlight < this.limit) this.#inFlight += 1;
    else await this.#wait(signal);
    return {
      [Symbol.dispose]: () => {
        this.#inFlight -= 1;
        this.#admit();
      },
    };
  }

  /** Halves the limit after a 429. */
  onThrottled(): void {
    this.#limit = Math.max(1, this.#limit / 2);
  }

  /** Raises the limit after a success. */
  onSuccess(): void {
    this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    this.#admit();
  }

  #admit(): void {
    for (const waiter of this.#waiters) {
      if (this.#inFlight >= this.limit) return;
      this.#waiters.delete(waiter);
      this.#inFlight += 1;
      waiter.admit();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admit: () => {
          signal.removeEventListener("abort", abandon);
          resolve();
        },
      };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", abandon, { once: true });
    });
  }
}

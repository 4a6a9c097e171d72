interface Waiter {
  readonly admit: () => void;
}

/**
 * Caps the writes in flight. Every refusal with 429 halves the cap, every success gives a little back (additive increase,
 * multiplicative decrease), between 1 and `max`.
 */
export class WriteGate {
  readonly #max: number;
  readonly #waiters = new Set<Waiter>();
  #limit: number;
  #inside = 0;

  constructor(max: number) {
    this.#max = max;
    this.#limit = max;
  }

  /** How many may be in flight at this moment. */
  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Waits for a place; rejects with the signal's reason when that is aborted first. Disposing the answer gives the place back. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#inside < this.limit) this.#inside += 1;
    else await this.#wait(signal);
    return {
      [Symbol.dispose]: () => {
        this.#inside -= 1;
        this.#admit();
      },
    };
  }

  refused(): void {
    this.#limit = Math.max(1, this.#limit / 2);
  }

  accepted(): void {
    this.#limit = Math.min(this.#max, this.#limit + 1 / this.#limit);
    this.#admit();
  }

  #admit(): void {
    for (const waiter of this.#waiters) {
      if (this.#inside >= this.limit) return;
      this.#waiters.delete(waiter);
      this.#inside += 1;
      waiter.admit();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        admit: () => {
          signal.removeEventListener("abort", give);
          resolve();
        },
      };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", give, { once: true });
    });
  }
}

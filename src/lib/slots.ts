/** Work that waits for places. */
interface Waiter {
  readonly size: number;
  readonly start: () => void;
}

/**
 * Limits how many pieces of work run simultaneously, or how much they use together. Waiting parties
 * take turns, and the work of one party starts in order: the wait of a party does not depend on how
 * much another party asks for.
 */
export class Slots {
  #free: number;
  readonly #share: number;
  readonly #used = new Map<string, number>();
  /** Waiters by party in the order of the turns: a `Map` keeps the order of insertion. */
  readonly #waiting = new Map<string, Waiter[]>();

  /** @param share the most that one party gets */
  constructor(count: number, share = count) {
    this.#free = count;
    this.#share = share;
  }

  /**
   * Runs `work` in a free slot. @throws the error of the work, or the signal's reason when it is
   * aborted before
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, party = ""): Promise<T> {
    await this.take(signal, party, 1);
    try {
      return await work();
    } finally {
      this.release(party, 1);
    }
  }

  /**
   * Waits for `size` places, at most the share of a party; `release` returns them. @throws the
   * signal's reason when it is aborted before
   */
  take(signal: AbortSignal, party: string, size: number): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const waiter = { size, start };
    const abort = (): void => {
      this.#leave(party, waiter);
      reject(signal.reason);
      this.#admit();
    };
    signal.addEventListener("abort", abort, { once: true });
    const waiting = this.#waiting.get(party) ?? [];
    waiting.push(waiter);
    this.#waiting.set(party, waiting);
    this.#admit();
    return promise;
  }

  /** Takes `size` more places if they are free now. Returns whether they were. */
  tryTake(party: string, size: number): boolean {
    if (size > this.#free || !this.#isInShare(party, size)) return false;
    this.#use(party, size);
    return true;
  }

  release(party: string, size: number): void {
    this.#use(party, -size);
    this.#admit();
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [party, waiter] = next;
      if (waiter.size > this.#free) return;
      this.#use(party, waiter.size);
      const others = this.#waiting.get(party) ?? [];
      others.shift();
      // The next turn of this party comes after the turns of all other parties.
      this.#waiting.delete(party);
      if (others.length > 0) this.#waiting.set(party, others);
      waiter.start();
    }
  }

  /**
   * Returns the first waiter of the party whose turn it is; one that has its share is skipped, and
   * keeps its turn.
   */
  #next(): [string, Waiter] | undefined {
    for (const [party, [first]] of this.#waiting) {
      if (first !== undefined && this.#isInShare(party, first.size)) return [party, first];
    }
    return undefined;
  }

  #leave(party: string, waiter: Waiter): void {
    const waiting = this.#waiting.get(party) ?? [];
    waiting.splice(waiting.indexOf(waiter), 1);
    if (waiting.length === 0) this.#waiting.delete(party);
  }

  #isInShare(party: string, size: number): boolean {
    return (this.#used.get(party) ?? 0) + size <= this.#share;
  }

  #use(party: string, size: number): void {
    this.#free -= size;
    const used = (this.#used.get(party) ?? 0) + size;
    if (used === 0) this.#used.delete(party);
    else this.#used.set(party, used);
  }
}

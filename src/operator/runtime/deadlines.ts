import type { Clock, Timer } from "../../lib/clock.ts";

interface Deadline {
  readonly key: string;
  readonly at: number;
  /** Deadlines at the same time fire in the order in which they were set. */
  readonly order: number;
}

/** Outdated entries that the heap may contain in addition to as many as it has current ones. */
const OUTDATED = 64;

/**
 * Deadlines of keys, one for each, on the monotonic clock. All share one timer: a deadline costs
 * some 100 bytes.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #onDue: (key: string) => void;
  readonly #current = new Map<string, Deadline>();
  /**
   * A binary heap, earliest first. An entry that is not the current one of its key is outdated and
   * is dropped when it comes first.
   */
  #heap: Deadline[] = [];
  #order = 0;
  #timer: (Timer & { readonly at: number }) | undefined;

  /**
   * @param onDue called with each key when its deadline has passed; the key then has no deadline
   */
  constructor(clock: Clock, onDue: (key: string) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Returns the deadline of a key. */
  get(key: string): number | undefined {
    return this.#current.get(key)?.at;
  }

  /** Sets the deadline of a key, instead of its former one. */
  set(key: string, at: number): void {
    this.#order += 1;
    const deadline: Deadline = { key, at, order: this.#order };
    this.#current.set(key, deadline);
    if (this.#heap.length >= 2 * this.#current.size + OUTDATED) this.#compact();
    else this.#push(deadline);
    this.#arm();
  }

  delete(key: string): boolean {
    const deleted = this.#current.delete(key);
    if (deleted) this.#arm();
    return deleted;
  }

  clear(): void {
    this.#current.clear();
    this.#heap = [];
    this.#arm();
  }

  #arm(): void {
    const next = this.#first();
    if (this.#timer?.at === next?.at) return;
    this.#timer?.[Symbol.dispose]();
    if (next === undefined) {
      this.#timer = undefined;
      return;
    }
    const timer = this.#clock.timer(next.at - this.#clock.monotonic(), () => this.#fire());
    this.#timer = { at: next.at, [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let next = this.#first(); next !== undefined && next.at <= now; next = this.#first()) {
      this.#current.delete(next.key);
      this.#onDue(next.key);
    }
    this.#arm();
  }

  /** Returns the earliest current deadline, after dropping outdated ones. */
  #first(): Deadline | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#current.get(first.key) === first) return first;
      this.#pop();
    }
    return undefined;
  }

  /** Rebuilds the heap from the current deadlines; a sorted array is a heap. */
  #compact(): void {
    this.#heap = [...this.#current.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #push(deadline: Deadline): void {
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isBefore(parent, deadline)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = deadline;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const child =
        left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(last, child)) break;
      heap[index] = child;
      index = 2 * index + (child === left ? 1 : 2);
    }
    heap[index] = last;
  }
}

function isBefore(a: Deadline, b: Deadline): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

import type { Timer } from "../../../src/lib/clock.ts";

/** A timer that fires at `at`; equal times in the order of creation. */
export class PendingTimer implements Timer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  disposed = false;
  readonly #heap: TimerHeap;

  constructor(heap: TimerHeap, at: number, order: number, fire: () => void) {
    this.#heap = heap;
    this.at = at;
    this.order = order;
    this.fire = fire;
  }

  [Symbol.dispose](): void {
    if (this.disposed) return;
    this.disposed = true;
    this.#heap.disposed();
  }
}

/** Number of timers below which the disposed ones are not worth a search. */
const FEW = 64;

/**
 * The pending timers, the next one first (a binary heap). Disposed ones stay until they are first
 * or the majority.
 */
export class TimerHeap {
  #heap: PendingTimer[] = [];
  #pending = 0;

  /** Number of timers that were not disposed. */
  get pending(): number {
    return this.#pending;
  }

  /** Returns the next timer, and forgets the disposed ones before it. */
  get first(): PendingTimer | undefined {
    while (this.#heap[0]?.disposed) this.#removeFirst();
    return this.#heap[0];
  }

  push(timer: PendingTimer): PendingTimer {
    const heap = this.#heap;
    this.#pending += 1;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = timer;
    return timer;
  }

  /** Counts a timer that was disposed. */
  disposed(): void {
    this.#pending -= 1;
    if (this.#heap.length < FEW || this.#pending > this.#heap.length / 2) return;
    // A sorted array is a heap.
    this.#heap = this.#heap.filter((timer) => !timer.disposed).sort(compare);
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child;
      }
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  }
}

const compare = (a: PendingTimer, b: PendingTimer): number => a.at - b.at || a.order - b.order;

function isBefore(a: PendingTimer, b: PendingTimer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

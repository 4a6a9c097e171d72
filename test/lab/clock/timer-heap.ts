/** A timer that fires at `at`; equal times in the order of creation. */
export interface PendingTimer {
  readonly at: number;
  readonly order: number;
  readonly fire: () => void;
  disposed: boolean;
}

/**
 * The pending timers, the next one first (a binary heap). Disposed ones stay until they are first.
 */
export class TimerHeap {
  readonly #heap: PendingTimer[] = [];

  /** Returns the next timer, and forgets the disposed ones before it. */
  get first(): PendingTimer | undefined {
    while (this.#heap[0]?.disposed) this.#removeFirst();
    return this.#heap[0];
  }

  push(timer: PendingTimer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(heap[index]!, heap[parent]!)) return;
      this.#swap(index, parent);
      index = parent;
    }
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

function isBefore(a: PendingTimer, b: PendingTimer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

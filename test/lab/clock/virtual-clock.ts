import type { Timer, Clock } from "../../../src/lib/clock.ts";
import { sleepByTimer } from "./sleep-by-timer.ts";

/** A timer that fires at `at`; equal times in the order of creation. */
class PendingTimer implements Timer {
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
class TimerHeap {
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
    let index = 0;
    for (let child = 1; child < heap.length; child = 2 * index + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

const compare = (a: PendingTimer, b: PendingTimer): number => a.at - b.at || a.order - b.order;

function isBefore(a: PendingTimer, b: PendingTimer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** Runs everything that is ready. */
type Settle = () => Promise<void>;

const turn: Settle = () => new Promise((resolve) => setImmediate(resolve));

/** Runs promise jobs, and I/O that has arrived. */
const eventLoop: Settle = async () => {
  for (let round = 0; round < 3; round += 1) await turn();
};

/**
 * Runs promise jobs only: faster, and enough without any I/O. The tick is added by a promise job,
 * because after a callback of the event loop the ticks come first; after a promise job they come
 * when all promise jobs have run.
 */
export const promiseJobs: Settle = () =>
  new Promise((resolve) => {
    void Promise.resolve().then(() => process.nextTick(resolve));
  });

/**
 * After so many timers comes a turn of the event loop, in which Node reports unhandled rejections.
 */
const TIMERS_PER_TURN = 128;

/**
 * A clock that advances only on request. Timers fire in the order of their deadlines (equal ones in
 * the order of creation), each with the clock at its deadline; between two timers everything that
 * is ready runs.
 */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #wall: number;
  #order = 0;
  readonly #timers = new TimerHeap();
  readonly #settle: Settle;
  #fired = 0;

  /** @param settle called after each timer */
  constructor(start = Date.UTC(2026, 10, 21), settle = eventLoop) {
    this.#wall = start;
    this.#settle = settle;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(ms: number, fire: () => void): Timer {
    this.#order += 1;
    const at = this.#monotonic + Math.max(0, ms);
    return this.#timers.push(new PendingTimer(this.#timers, at, this.#order, fire));
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepByTimer(this, ms, signal);
  }

  /** Number of waiting timers and sleeps; 0 after all were disposed. */
  get pending(): number {
    return this.#timers.pending;
  }

  /** Milliseconds until the next timer fires; `undefined` when none is waiting. */
  get nextIn(): number | undefined {
    const next = this.#timers.first;
    return next && next.at - this.#monotonic;
  }

  /**
   * Advances both clocks by `ms` and fires every timer that becomes due, including timers created
   * by those that fire.
   */
  async advance(ms: number): Promise<void> {
    const target = this.#monotonic + ms;
    await this.#settle();
    for (let next = this.#timers.first; next && next.at <= target; next = this.#timers.first) {
      next[Symbol.dispose]();
      this.#moveTo(next.at);
      next.fire();
      this.#fired += 1;
      await (this.#fired % TIMERS_PER_TURN === 0 ? turn() : this.#settle());
    }
    this.#moveTo(target);
    await this.#settle();
  }

  /** Changes the wall clock only, as NTP or an administrator does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/**
 * Advances a virtual clock in small steps, with real I/O between them, until the promise settles or
 * the condition is true. The real-time counterparts are `waitUntil` and `expect.poll`.
 */
export function pump<T>(clock: VirtualClock, until: Promise<T>, stepMs?: number): Promise<T>;
export function pump(clock: VirtualClock, until: () => boolean, stepMs?: number): Promise<void>;
export async function pump<T>(
  clock: VirtualClock,
  until: Promise<T> | (() => boolean),
  stepMs = 100,
): Promise<T | void> {
  if (typeof until === "function") {
    while (!until()) await step(clock, stepMs);
    return;
  }
  const state = { settled: false };
  const settle = (): void => void (state.settled = true);
  until.then(settle, settle);
  while (!state.settled) await step(clock, stepMs);
  return until;
}

async function step(clock: VirtualClock, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  await clock.advance(ms);
}

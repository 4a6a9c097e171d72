import { Backoff } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { moreUrgent, PRIORITIES, type Priority } from "./priority.ts";
import { TurnTaker } from "./turn-taker.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Whom a key belongs to; owners take turns within a priority. */
  readonly groupOf: (key: string) => string;
}

interface Waiting {
  readonly at: number;
  readonly priority: Priority;
  readonly timer: Timer;
}

/** controller-runtime's parameters of a failing item. */
const RETRY = { baseMs: 5, maxMs: 1_000_000 };

/**
 * A queue of keys with client-go's semantics, and priorities.
 *
 * Guarantees: a key is handed to one worker at a time; a key added any number of times before it is taken is handed out once; a key
 * added while it is worked on is handed out once more afterwards; nothing added before `shutdown` is forgotten.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Ready keys, by priority. A key is in at most one of them. */
  readonly #ready = new Map<Priority, TurnTaker>(PRIORITIES.map((priority) => [priority, new TurnTaker()]));
  readonly #queued = new Map<string, Priority>();
  /** With the priority they were taken at. */
  readonly #processing = new Map<string, Priority>();
  /** Added while being worked on: queued when done. */
  readonly #dirty = new Map<string, Priority>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #failures = new Map<string, Backoff>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Keys that could be worked on now. */
  get depth(): number {
    return this.#queued.size;
  }

  /** Keys whose time has yet to come. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Keys being worked on. */
  get processing(): number {
    return this.#processing.size;
  }

  add(key: string, priority: Priority = "background"): void {
    if (this.#closed) return;
    if (this.#processing.has(key)) {
      this.#dirty.set(key, moreUrgent(priority, this.#dirty.get(key) ?? priority));
      return;
    }
    const queued = this.#queued.get(key);
    const urgent = moreUrgent(priority, queued ?? priority);
    if (queued === urgent) return;
    const group = this.#options.groupOf(key);
    if (queued) this.#ready.get(queued)?.remove(group, key);
    this.#queued.set(key, urgent);
    this.#ready.get(urgent)?.add(group, key);
    this.#hand();
  }

  /** Adds the key after `ms`. A key waits for one moment only: the earliest asked for, at the most urgent priority asked for. */
  addAfter(key: string, ms: number, priority: Priority = "background"): void {
    if (this.#closed) return;
    if (ms <= 0) return this.add(key, priority);
    const { clock } = this.#options;
    const before = this.#waiting.get(key);
    const at = Math.min(clock.monotonic() + ms, before?.at ?? Infinity);
    const urgent = moreUrgent(priority, before?.priority ?? priority);
    before?.timer[Symbol.dispose]();
    const timer = clock.timer(at - clock.monotonic(), () => {
      this.#waiting.delete(key);
      this.add(key, urgent);
    });
    this.#waiting.set(key, { at, priority: urgent, timer });
  }

  /**
   * Adds the key after its back-off: 5 ms after the first failure, twice as long after each further one, at most 1000 s, less up to a
   * half of it by chance; and never before `atLeastMs`. A key being worked on keeps the priority it was taken at. `forget` resets it.
   */
  addRateLimited(key: string, atLeastMs = 0): void {
    const backoff = this.#failures.get(key) ?? new Backoff(RETRY, this.#options.random);
    this.#failures.set(key, backoff);
    this.addAfter(key, Math.max(atLeastMs, backoff.next()), this.#processing.get(key));
  }

  /** How many times in a row the key was added by `addRateLimited`. */
  failures(key: string): number {
    return this.#failures.get(key)?.failures ?? 0;
  }

  /** The key succeeded, or will not be tried again: its next failure is a first one. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, as soon as there is one; `undefined` after `shutdown`. Every key taken must be given back by `done`. */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#hand();
    });
  }

  done(key: string): void {
    this.#processing.delete(key);
    const dirty = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (dirty) this.add(key, dirty);
  }

  /**
   * Ends the queue: workers get `undefined` instead of a further key, and nothing can be added any more. Keys that nobody has taken
   * are dropped: a successor sees the same world and queues them again.
   */
  shutdown(): void {
    this.#closed = true;
    for (const { timer } of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
    this.#dirty.clear();
    this.#queued.clear();
    this.#hand();
  }

  #hand(): void {
    while (this.#takers.length > 0) {
      const key = this.#closed ? undefined : this.#next();
      if (key === undefined && !this.#closed) return;
      this.#takers.shift()?.(key);
    }
  }

  #next(): string | undefined {
    for (const [priority, ready] of this.#ready) {
      const key = ready.take();
      if (key === undefined) continue;
      this.#queued.delete(key);
      this.#processing.set(key, priority);
      return key;
    }
    return undefined;
  }
}

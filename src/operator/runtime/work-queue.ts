import { Backoff } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";

/** Reasons to reconcile a key, most urgent first (docs/design/engine.md#fairness). */
export const PRIORITIES = ["spec", "drift", "vault", "background"] as const;
export type Priority = (typeof PRIORITIES)[number];

function moreUrgent(a: Priority, b: Priority): Priority {
  return PRIORITIES.indexOf(a) <= PRIORITIES.indexOf(b) ? a : b;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the group of a key; groups take turns within a priority. */
  readonly groupOf: (key: string) => string;
}

interface Waiting {
  readonly at: number;
  readonly priority: Priority;
  readonly timer: Timer;
}

/** The retry parameters of controller-runtime. */
const RETRY = { baseMs: 5, maxMs: 1_000_000 };

/**
 * A queue of keys with client-go's semantics, and priorities.
 *
 * Guarantees: one worker at a time has a key; a key added several times before it is taken is processed once; a key added while
 * it is processed is processed once more afterwards; no key added before `shutdown` is lost.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Ready keys, by priority. A key is in at most one of them. */
  readonly #ready = new Map<Priority, FairQueue>(PRIORITIES.map((priority) => [priority, new FairQueue()]));
  readonly #queued = new Map<string, Priority>();
  /** Keys being processed, with the priority they were taken at. */
  readonly #processing = new Map<string, Priority>();
  /** Keys added while being processed, which are queued when done. */
  readonly #dirty = new Map<string, Priority>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #failures = new Map<string, Backoff>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Number of keys that are ready. */
  get depth(): number {
    return this.#queued.size;
  }

  /** Number of keys whose delay has not passed. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Number of keys being processed. */
  get processing(): number {
    return this.#processing.size;
  }

  /** Adds the key, or raises the priority of a queued one. */
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
    this.#deliver();
  }

  /** Adds the key after `ms`. A key has one deadline: the earliest requested one, with the most urgent requested priority. */
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
   * Adds the key after its backoff, and not before `atLeastMs`. The backoff is 5 ms after the first failure, doubles with each
   * further one up to 1000 s, and is shortened by a random part of up to a half. A key being processed keeps its priority.
   * `forget` resets it.
   */
  addRateLimited(key: string, atLeastMs = 0): void {
    const backoff = this.#failures.get(key) ?? new Backoff(RETRY, this.#options.random);
    this.#failures.set(key, backoff);
    this.addAfter(key, Math.max(atLeastMs, backoff.next()), this.#processing.get(key));
  }

  /** Number of consecutive failures: additions by `addRateLimited` since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key)?.failures ?? 0;
  }

  /** Resets the failures of a key that succeeded or is not retried. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Waits for the next key; resolves with `undefined` after `shutdown`. The caller passes every key to `done`. */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#deliver();
    });
  }

  /** Ends the processing of a key. It is queued again if it was added meanwhile. */
  done(key: string): void {
    this.#processing.delete(key);
    const dirty = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (dirty) this.add(key, dirty);
  }

  /**
   * Closes the queue: workers get `undefined` instead of a key, and additions are ignored. Keys that were not taken are dropped,
   * because the next leader queues all resources again.
   */
  shutdown(): void {
    this.#closed = true;
    for (const { timer } of this.#waiting.values()) timer[Symbol.dispose]();
    this.#waiting.clear();
    this.#dirty.clear();
    this.#queued.clear();
    this.#deliver();
  }

  #deliver(): void {
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

/** A queue in which groups take turns and the keys of one group are first in, first out. Every operation takes constant time. */
class FairQueue {
  /** Groups in the order of their turns: a `Map` keeps the order of insertion. */
  readonly #groups = new Map<string, Set<string>>();

  add(group: string, key: string): void {
    const keys = this.#groups.get(group);
    if (keys) keys.add(key);
    else this.#groups.set(group, new Set([key]));
  }

  remove(group: string, key: string): void {
    const keys = this.#groups.get(group);
    keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
  }

  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      for (const key of keys) {
        keys.delete(key);
        this.#groups.delete(group);
        if (keys.size > 0) this.#groups.set(group, keys);
        return key;
      }
    }
    return undefined;
  }
}

import { Backoff } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import { Deadlines } from "./deadlines.ts";
import { moreUrgent, type Priority, ReadyKeys, type ReadyKey } from "./ready-keys.ts";
import { QueueLimits } from "./queue-limits.ts";
import type { TokenBucket } from "../lib/token-bucket.ts";
import { Turns } from "./turns.ts";

interface Place {
  readonly group: string;
  readonly lane: string;
}

/**
 * Limits the retries of all keys together: they wait in front of the queue for tokens. Groups take
 * turns, and lanes within a group.
 */
export class RetryGate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #onPass: (key: string) => void;
  readonly #places = new Map<string, Place>();
  readonly #turns = new Turns();
  #timer: Timer | undefined;

  /**
   * @param bucket may be shared with other gates
   * @param onPass called with each key that passes
   */
  constructor(clock: Clock, bucket: TokenBucket, onPass: (key: string) => void) {
    this.#clock = clock;
    this.#bucket = bucket;
    this.#onPass = onPass;
  }

  /** Number of keys in front of the gate. */
  get size(): number {
    return this.#places.size;
  }

  add(group: string, key: string, lane = ""): void {
    this.remove(key);
    this.#places.set(key, { group, lane });
    this.#turns.add(group, lane, key);
    if (this.#timer === undefined) this.#open();
  }

  remove(key: string): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#turns.remove(place.group, place.lane, key);
    if (this.size === 0) this.#stop();
    return true;
  }

  clear(): void {
    this.#places.clear();
    this.#turns.clear();
    this.#stop();
  }

  #open(): void {
    this.#timer = undefined;
    while (this.size > 0) {
      if (!this.#bucket.take()) {
        this.#timer = this.#clock.timer(this.#bucket.nextInMs, () => this.#open());
        return;
      }
      const key = this.#turns.take(() => false);
      if (key === undefined) return;
      this.#places.delete(key);
      this.#onPass(key);
    }
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the group of a key, its namespace. Within a priority, groups take turns. */
  readonly turnOf: (key: string) => string;
  /**
   * Returns the group of a key of which at most `maxInFlight` keys are processed simultaneously:
   * its connection.
   */
  readonly capOf?: (key: string) => string | undefined;
  /** No limit by default. */
  readonly maxInFlight?: number;
  /** Shared with the queues of other shards; by default the queue has separate limits. */
  readonly limits?: QueueLimits | undefined;
}

/** Cause of a failure. The end of the cause can end the backoff of the key early. */
export type RetryCause = "api" | "vault" | "target" | "unexpected";

interface Failure {
  readonly backoff: Backoff;
  readonly cause: RetryCause;
}

const RETRY = { baseMs: 1_000, maxMs: 60_000 };
/** Time in milliseconds between two forgiven keys. */
const FORGIVEN_EVERY_MS = 5;

/**
 * A queue of keys with client-go's semantics, priorities, turns and caps
 * (docs/design/engine.md#fairness).
 *
 * Guarantees: one worker at a time has a key; a key added several times before it is taken is
 * processed once; a key added while it is processed is processed once more afterwards; no key added
 * before `shutdown` is lost; a key that is always ready is taken, whatever else is added.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #limits: QueueLimits;
  readonly #ready = new ReadyKeys();
  /** Keys being processed. */
  readonly #processing = new Map<string, ReadyKey>();
  /** Number of keys being processed, by cap. */
  readonly #inFlight = new Map<string, number>();
  /** Keys added while being processed, to be queued when done. */
  readonly #dirty = new Map<string, Priority>();
  /** Keys to be added later, with the priority. */
  readonly #later = new Map<string, Priority>();
  readonly #deadlines: Deadlines;
  readonly #failures = new Map<string, Failure>();
  /**
   * Priorities of the keys that wait for a retry: during their backoff in `#backoffs`, then in
   * `#gate`.
   */
  readonly #retries = new Map<string, Priority>();
  readonly #backoffs: Deadlines;
  readonly #gate: RetryGate;
  readonly #takers: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    const { clock, turnOf, limits = new QueueLimits(clock) } = options;
    this.#limits = limits;
    this.#deadlines = new Deadlines(clock, (key) => this.#whenDue(key, this.#later));
    this.#backoffs = new Deadlines(clock, (key) =>
      this.#gate.add(turnOf(key), key, this.#laneOf(key)),
    );
    this.#gate = new RetryGate(clock, limits.retries, (key) => this.#whenDue(key, this.#retries));
  }

  /** Number of keys that are ready. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Number of keys that failed and wait for their retry. */
  get retrying(): number {
    return this.#retries.size;
  }

  /**
   * Time in milliseconds for which the oldest ready key has waited for a worker; 0 when none is
   * ready.
   */
  get oldestAgeMs(): number {
    const now = this.#options.clock.monotonic();
    return now - (this.#ready.oldestSince ?? now);
  }

  /** Adds the key, or raises the priority of a queued one. */
  add(key: string, priority: Priority = "background"): void {
    if (this.#closed) return;
    if (this.#processing.has(key)) {
      this.#dirty.set(key, moreUrgent(priority, this.#dirty.get(key) ?? priority));
      return;
    }
    const { turnOf, capOf, clock } = this.#options;
    this.#ready.add({
      key,
      priority,
      turn: turnOf(key),
      cap: capOf?.(key) ?? "",
      since: clock.monotonic(),
    });
    this.#deliver();
  }

  /**
   * Adds the key after `ms`. A key has one deadline: the earliest requested one, with the most
   * urgent requested priority.
   */
  addAfter(key: string, ms: number, priority: Priority = "background"): void {
    if (this.#closed) return;
    if (ms <= 0) return this.add(key, priority);
    const at = this.#options.clock.monotonic() + ms;
    this.#later.set(key, moreUrgent(priority, this.#later.get(key) ?? priority));
    if (at < (this.#deadlines.get(key) ?? Infinity)) this.#deadlines.set(key, at);
  }

  /** Drops the deadline of a key: otherwise the key is kept until then, perhaps for a year. */
  drop(key: string): void {
    this.#later.delete(key);
    this.#deadlines.delete(key);
  }

  /**
   * Adds a key that failed after its backoff, and not before `atLeastMs`. The backoff is 1 s after
   * the first failure, doubles with each further one up to 60 s, and is shortened by a random part
   * of up to a half. All keys of the limits together are retried at most 10 times per second, after
   * a burst of 100. A key being processed keeps its priority. `forget` resets the backoff.
   */
  retry(key: string, cause: RetryCause, atLeastMs = 0): void {
    if (this.#closed) return;
    const { clock, random } = this.#options;
    const backoff = this.#failures.get(key)?.backoff ?? new Backoff(RETRY, random);
    this.#failures.set(key, { backoff, cause });
    this.#cancelRetry(key);
    this.#retries.set(key, this.#processing.get(key)?.priority ?? "background");
    this.#backoffs.set(key, clock.monotonic() + Math.max(atLeastMs, backoff.next()));
  }

  /** Number of consecutive failures: calls of `retry` since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key)?.backoff.failures ?? 0;
  }

  /** Resets the failures of a key that succeeded. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#cancelRetry(key);
  }

  /**
   * Resets the failures of all keys that wait for a retry because of this cause, and adds the keys,
   * spread evenly. Call it when the cause has ended.
   */
  forgive(cause: RetryCause): void {
    let delayMs = 0;
    for (const [key, priority] of this.#retries) {
      if (this.#failures.get(key)?.cause !== cause) continue;
      this.forget(key);
      this.addAfter(key, delayMs, priority);
      delayMs += FORGIVEN_EVERY_MS;
    }
  }

  /**
   * Waits for the next key; resolves with `undefined` after `shutdown`. The caller passes every key
   * to `done`.
   */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#deliver();
    });
  }

  /** Ends the processing of a key. A key added during its processing is queued again. */
  done(key: string): void {
    const cap = this.#processing.get(key)?.cap ?? "";
    this.#processing.delete(key);
    const inFlight = (this.#inFlight.get(cap) ?? 0) - 1;
    if (inFlight > 0) this.#inFlight.set(cap, inFlight);
    else this.#inFlight.delete(cap);
    const dirty = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (dirty) this.add(key, dirty);
    this.#limits.done();
    this.#deliver();
  }

  /**
   * Closes the queue: workers get `undefined` instead of a key, and additions are ignored. Keys
   * that were not taken are dropped, because the next leader queues all resources again.
   */
  shutdown(): void {
    this.#closed = true;
    this.#deadlines.clear();
    this.#backoffs.clear();
    this.#gate.clear();
    this.#retries.clear();
    this.#ready.clear();
    this.#deliver();
  }

  #whenDue(key: string, priorities: Map<string, Priority>): void {
    const priority = priorities.get(key);
    priorities.delete(key);
    this.add(key, priority);
  }

  /** Returns the lane of a key: a retry waits only for retries with its connection and cause. */
  #laneOf(key: string): string {
    return `${this.#failures.get(key)?.cause} ${this.#options.capOf?.(key)}`;
  }

  #cancelRetry(key: string): void {
    this.#retries.delete(key);
    this.#backoffs.delete(key);
    this.#gate.remove(key);
  }

  readonly #deliver = (): void => {
    while (this.#takers.length > 0) {
      const key = this.#closed ? undefined : this.#next();
      if (key === undefined && !this.#closed) return;
      this.#takers.shift()?.(key);
    }
  };

  #next(): string | undefined {
    const { maxInFlight = Infinity } = this.#options;
    if (this.depth === 0 || !this.#limits.isFree(this.#deliver)) return undefined;
    const next = this.#ready.take(
      (cap) => cap !== "" && (this.#inFlight.get(cap) ?? 0) >= maxInFlight,
    );
    if (next === undefined) return undefined;
    this.#limits.taken();
    this.#processing.set(next.key, next);
    this.#inFlight.set(next.cap, (this.#inFlight.get(next.cap) ?? 0) + 1);
    // The attempt that starts now is the retry.
    this.#cancelRetry(next.key);
    return next.key;
  }
}

import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { yieldToEventLoop } from "../../lib/clock.ts";

/** Duration after which long work lets others use the event loop, in milliseconds. */
const SLICE_MS = 4;
/**
 * Duration of a turn of the event loop after which further short work waits for the next one, in
 * milliseconds.
 */
const TURN_MS = 4;
/** Long work stops resting this many milliseconds after other work last used the event loop. */
const UNUSED_MS = 50;
/**
 * Minimum rest, in milliseconds, and the share of it that other work must use to justify a longer
 * one.
 */
const MIN_REST_MS = 2;
const SMALL_SHARE = 0.2;

/** Access to the event loop, in milliseconds. */
export interface Loop {
  now(): number;
  /**
   * Resolves after the work that runs now, if it takes a millisecond, before I/O that became ready
   * during that work.
   */
  ended(): Promise<void>;
  /** Lets others use the event loop for a time. Returns the share of it that they have used. */
  rest(ms: number): Promise<number>;
  /** Resolves after the work that is ready. */
  next(): Promise<void>;
}

const nodeLoop: Loop = {
  now: () => performance.now(),
  // Timers that are due run before I/O.
  ended: () => delay(1),
  async rest(ms) {
    const before = performance.eventLoopUtilization();
    await delay(ms);
    return performance.eventLoopUtilization(before).utilization;
  },
  next: yieldToEventLoop,
};

/** One piece of long work. It calls `pause` between its steps. */
export interface Slices {
  /** Resolves immediately, or in the next turn of the work when it has run for a slice. */
  pause(): Promise<void> | undefined;
}

/**
 * Turns of all long work on one event loop: only one runs at a time, for a slice, and rests as long
 * as it ran before the next one while others use the event loop. A short request takes several
 * turns of the event loop: it waits for about one slice, however many long ones there are.
 */
export class LongWork {
  readonly #loop: Loop;
  readonly #waiting: (() => void)[] = [];
  /** Work that others wait for: it runs after one piece of other work at most. */
  readonly #holding: (() => void)[] = [];
  #serving = false;
  /** Time of the last use of the event loop by others. */
  #usedAt = -Infinity;
  /** Start of the current turn of the event loop, if short work has asked for it. */
  #turnStart: number | undefined;

  constructor(loop: Loop = nodeLoop) {
    this.#loop = loop;
  }

  /**
   * Notes that others use the event loop: a request has arrived, or short work of it has ended. The
   * time that others use cannot be measured instead, because it contains the input and output of
   * the long work itself.
   */
  noteUse(): void {
    this.#usedAt = this.#loop.now();
  }

  /**
   * Resolves when it is the turn of the caller. The caller runs until it awaits I/O or another
   * turn.
   */
  turn(): Promise<void> {
    return this.#turnIn(this.#waiting);
  }

  #turnIn(queue: (() => void)[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    queue.push(resolve);
    if (!this.#serving) void this.#serve();
    return promise;
  }

  /**
   * Starts a piece of work that holds what others wait for, such as a connection in a transaction.
   */
  start(): Slices {
    let from = this.#loop.now();
    const nextTurn = async (): Promise<void> => {
      await this.#turnIn(this.#holding);
      from = this.#loop.now();
    };
    return { pause: () => (this.#loop.now() - from < SLICE_MS ? undefined : nextTurn()) };
  }

  /**
   * Resolves immediately, or in the next turn of the event loop when the current one is longer than
   * `turnMs`. Short work calls it before it starts: many pieces are then not one long turn.
   */
  shortTurn(turnMs = TURN_MS): Promise<void> | undefined {
    const now = this.#loop.now();
    if (this.#turnStart !== undefined) {
      return now - this.#turnStart < turnMs
        ? undefined
        : this.#loop.next().then(() => this.shortTurn(turnMs));
    }
    this.#turnStart = now;
    void this.#loop.next().then(() => (this.#turnStart = undefined));
    return undefined;
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    // The first turn comes immediately, unless the caller has used a slice already: then others run
    // first.
    await this.#loop.next();
    for (let queue = this.#queueAfter(); queue; queue = this.#queueAfter(queue)) {
      const from = this.#loop.now();
      queue.shift()?.();
      await this.#loop.ended();
      await this.#rest(this.#loop.now() - from);
    }
    this.#serving = false;
  }

  /** Runs work that no request waits for, and then rests as long as it took. */
  async background<T>(work: () => Promise<T>): Promise<T> {
    const from = this.#loop.now();
    const result = await work();
    await this.#rest(this.#loop.now() - from);
    return result;
  }

  /** Returns the queue of the next turn, if any: work that others wait for alternates with the rest. */
  #queueAfter(last?: (() => void)[]): (() => void)[] | undefined {
    const [first, second] =
      last === this.#holding ? [this.#waiting, this.#holding] : [this.#holding, this.#waiting];
    return [first, second].find((queue) => queue.length > 0);
  }

  /** Lets others use the event loop as long as a piece of work took, if they do use it. */
  async #rest(ms: number): Promise<void> {
    await this.#loop.next();
    if (this.#loop.now() - this.#usedAt > UNUSED_MS) return;
    const used = await this.#loop.rest(Math.min(ms, MIN_REST_MS));
    if (ms > MIN_REST_MS && used > SMALL_SHARE) await this.#loop.rest(ms - MIN_REST_MS);
  }
}

/** The turns on the event loop of this process. */
export const longWork = new LongWork();

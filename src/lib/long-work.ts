import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { yieldToEventLoop } from "./clock.ts";

/** Duration after which long work lets others use the event loop, in milliseconds. */
const SLICE_MS = 8;
/** Duration of a turn of the event loop after which further short work waits for the next one, in milliseconds. */
const TURN_MS = 4;
/** Minimum rest, and the use of the event loop by others below which a longer one is pointless. */
const MIN_REST_MS = 2;
const IDLE_UTILIZATION = 0.2;

/** Access to the event loop, in milliseconds. */
export interface Loop {
  now(): number;
  /** Lets others use the event loop for a time, or for a shorter one if they do not need it. */
  rest(ms: number): Promise<void>;
  /** Resolves after the work that is ready. */
  next(): Promise<void>;
}

const nodeLoop: Loop = {
  now: () => performance.now(),
  async rest(ms) {
    const before = performance.eventLoopUtilization();
    await delay(Math.min(ms, MIN_REST_MS));
    const { utilization } = performance.eventLoopUtilization(before);
    if (ms > MIN_REST_MS && utilization > IDLE_UTILIZATION) await delay(ms - MIN_REST_MS);
  },
  next: yieldToEventLoop,
};

/** One piece of long work, which calls `pause` between its steps. */
export interface Slices {
  /** Resolves immediately, or in the next turn of the work when it has run for a slice. */
  pause(): Promise<void> | undefined;
}

/**
 * Turns of all long work on one event loop: only one runs at a time, for a slice, and rests as long as it ran before the next one. A short request,
 * which takes several turns of the event loop, therefore waits for about one slice, however many long ones there are.
 */
export class LongWork {
  readonly #loop: Loop;
  readonly #waiting: (() => void)[] = [];
  #serving = false;
  /** Start of the current turn of the event loop, if short work has asked for it. */
  #turnStart: number | undefined;

  constructor(loop: Loop = nodeLoop) {
    this.#loop = loop;
  }

  /** Resolves when it is the turn of the caller, which runs until it awaits I/O or another turn. */
  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#serving) void this.#serve();
    return promise;
  }

  /** Starts a piece of work. */
  start(): Slices {
    let from = this.#loop.now();
    const nextTurn = async (): Promise<void> => {
      await this.turn();
      from = this.#loop.now();
    };
    return { pause: () => (this.#loop.now() - from < SLICE_MS ? undefined : nextTurn()) };
  }

  /**
   * Resolves immediately, or in the next turn of the event loop when the current one is long. Short work calls it before it starts, so that many pieces
   * are not one long turn.
   */
  shortTurn(): Promise<void> | undefined {
    const now = this.#loop.now();
    if (this.#turnStart !== undefined) {
      return now - this.#turnStart < TURN_MS ? undefined : this.#loop.next().then(() => this.shortTurn());
    }
    this.#turnStart = now;
    void this.#loop.next().then(() => (this.#turnStart = undefined));
    return undefined;
  }

  async #serve(): Promise<void> {
    this.#serving = true;
    // The first turn comes immediately, unless the caller has used a slice already: then others run first.
    await this.#loop.next();
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const from = this.#loop.now();
      next();
      await this.#loop.next();
      await this.#loop.rest(this.#loop.now() - from);
    }
    this.#serving = false;
  }
}

/** The turns on the event loop of this process. */
export const longWork = new LongWork();

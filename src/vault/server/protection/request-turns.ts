import type { Clock } from "../../../lib/clock.ts";
import { FairSlots } from "../store/fair-slots.ts";
import { longWork } from "../long-work.ts";

/**
 * Durations of a turn of the event loop after which a request waits for the next one, in
 * milliseconds: of an account that has used more of it than others, and of one that has used less.
 */
const AHEAD_MS = 3;
const BEHIND_MS = 10;
/** Every account is busy: the position of each counts. */
const TURNS = { slots: 1, share: 1, busy: 1, busyMs: 0, fadingMs: 1 };

/**
 * Turns of authenticated requests, by the time that they use the event loop until they wait for
 * something. On a busy server an account with few requests passes the queue of one with many, whose
 * requests do not make the turns of the event loop long.
 */
export class RequestTurns {
  readonly #turns: FairSlots;

  constructor(clock: Clock) {
    this.#turns = new FairSlots(clock, TURNS, (isAhead) =>
      longWork.shortTurn(isAhead ? AHEAD_MS : BEHIND_MS),
    );
  }

  /** Resolves when it is the turn of an account: immediately while the event loop is not busy. */
  next(account: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#turns.run({ account }, async () => {
      resolve();
      // Ticks run after all promise jobs: the request, until it waits for something.
      await new Promise<void>((done) => process.nextTick(done));
    });
    return promise;
  }
}

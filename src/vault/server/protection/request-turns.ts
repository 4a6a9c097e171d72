import type { Clock } from "../../../lib/clock.ts";
import { FairTurns } from "../store/fair-turns.ts";
import { longWork } from "../long-work.ts";

/**
 * Turns of authenticated requests. On a busy server an account with few requests passes the queue
 * of one with many.
 */
export class RequestTurns {
  readonly #turns: FairTurns;

  constructor(clock: Clock) {
    this.#turns = new FairTurns(clock);
  }

  /** Resolves when it is the turn of an account: immediately while the event loop is not busy. */
  next(account: string): Promise<void> {
    return this.#turns.run(account, async () => longWork.shortTurn());
  }
}

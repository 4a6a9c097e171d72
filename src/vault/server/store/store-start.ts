import { Backoff } from "../../../lib/backoff.ts";
import { systemClock, type Clock } from "../../../lib/clock.ts";
import { codeOf } from "../../../lib/errors.ts";
import type { Logger } from "../../../lib/logger.ts";
import { systemRandom, type Random } from "../../../lib/random.ts";
import { StoreUnavailableError } from "./store.ts";

export interface StoreStartOptions {
  /** Waits for a store that cannot be reached. A file is reached or not, whenever it is opened. */
  readonly waits: boolean;
  readonly logger: Logger;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Real time, even when the server's clock is virtual. */
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Delays between two attempts, in milliseconds. */
const BACKOFF = { baseMs: 500, maxMs: 10_000 };
/** Time in milliseconds after which a problem that persists is logged again. */
const REPEAT_MS = 600_000;

/**
 * The steps of a start that need the store. The store may start later than the server: after a
 * failure of a node, for example.
 */
export class StoreStart {
  readonly #waits: boolean;
  readonly #options: Required<Pick<StoreStartOptions, "logger" | "clock" | "random">>;
  readonly #signal: AbortSignal;
  #problem: string | undefined;
  #loggedAt = -Infinity;

  constructor({
    waits,
    logger,
    signal,
    clock = systemClock,
    random = systemRandom,
  }: StoreStartOptions) {
    this.#waits = waits;
    this.#options = { logger, clock, random };
    this.#signal = signal ?? new AbortController().signal;
  }

  /** Returns why the store cannot be used now; `undefined` while nothing is known to be wrong. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Runs a step until the store can be reached. @throws the first error that is no
   * `StoreUnavailableError`; the signal's reason
   */
  async run<T>(step: () => Promise<T>): Promise<T> {
    const { clock, logger, random } = this.#options;
    const backoff = new Backoff(BACKOFF, random);
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        const result = await step();
        if (this.#problem !== undefined)
          logger.info({ event: "store_available" }, "store can be reached, continuing the start");
        this.#problem = undefined;
        return result;
      } catch (error) {
        if (!this.#waits || !(error instanceof StoreUnavailableError)) throw error;
        this.#report(error);
        await clock.sleep(backoff.next(), this.#signal).catch(() => undefined);
      }
    }
  }

  #report({ message, cause }: StoreUnavailableError): void {
    const { clock, logger } = this.#options;
    const now = clock.monotonic();
    const isKnown = this.#problem === message && now - this.#loggedAt < REPEAT_MS;
    this.#problem = message;
    if (isKnown) return;
    this.#loggedAt = now;
    logger.error(
      { event: "store_unavailable", reason: message, code: codeOf(cause) },
      "store cannot be reached, retrying",
    );
  }
}

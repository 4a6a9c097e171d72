import type { Clock } from "../../../src/lib/clock.ts";

const MINUTE_MS = 60_000;

/**
 * Counts the requests of one process to one kind of server, and calls `onExceeded` if there are
 * more than `most` in a minute (I10). A limit is far above what any command causes, and far below
 * what retries without a backoff send.
 */
export class RequestRate {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #onExceeded: () => void;
  #minute = 0;
  #count = 0;

  constructor(clock: Clock, most: number, onExceeded: () => void) {
    this.#clock = clock;
    this.#most = most;
    this.#onExceeded = onExceeded;
  }

  count(): void {
    const minute = Math.floor(this.#clock.monotonic() / MINUTE_MS);
    this.#count = minute === this.#minute ? this.#count + 1 : 1;
    this.#minute = minute;
    if (this.#count === this.#most + 1) this.#onExceeded();
  }
}

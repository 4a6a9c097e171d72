import type { Clock } from "../../../lib/clock.ts";
import { WATCH_LAG_MS } from "../outcome/own-writes.ts";

/**
 * The own writes that the watch has not shown yet, by the keys of their targets. One timer serves
 * all of them.
 */
export class UnseenWrites {
  readonly #clock: Clock;
  readonly #onUnseen: (key: string) => void;
  /** Monotonic times of the writes, in their order. */
  readonly #writes = new Map<string, number>();
  #isWaiting = false;

  /**
   * @param onUnseen called with the key of a write that the watch has not shown within {@link
   * WATCH_LAG_MS}.
   */
  constructor(clock: Clock, onUnseen: (key: string) => void) {
    this.#clock = clock;
    this.#onUnseen = onUnseen;
  }

  add(key: string): void {
    this.#writes.delete(key);
    this.#writes.set(key, this.#clock.monotonic());
    this.#awaitOldest();
  }

  has(key: string): boolean {
    return this.#writes.has(key);
  }

  delete(key: string): void {
    this.#writes.delete(key);
  }

  #awaitOldest(): void {
    const [oldest] = this.#writes.values();
    if (oldest === undefined || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#clock.timer(oldest + WATCH_LAG_MS - this.#clock.monotonic(), () => {
      this.#isWaiting = false;
      this.#reportUnseen();
      this.#awaitOldest();
    });
  }

  #reportUnseen(): void {
    for (const [key, at] of this.#writes) {
      if (this.#clock.monotonic() - at < WATCH_LAG_MS) return;
      this.#writes.delete(key);
      this.#onUnseen(key);
    }
  }
}

import type { Clock, Timer } from "../../lib/clock.ts";

/**
 * Owns a signal that is aborted after `ms` milliseconds or together with `parent`. Unlike
 * `AbortSignal.any`, disposing it removes its listener from a parent that lives as long as the
 * process.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #parent: AbortSignal;
  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);
  #timer: Timer;
  #expired = false;

  constructor(clock: Clock, ms: number, parent: AbortSignal) {
    this.#clock = clock;
    this.#parent = parent;
    this.#timer = this.#arm(ms);
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Reports whether the time has passed before the parent was aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Restarts the time with `ms` milliseconds. */
  restart(ms: number): void {
    this.#timer[Symbol.dispose]();
    this.#timer = this.#arm(ms);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#parent.removeEventListener("abort", this.#follow);
  }

  #arm(ms: number): Timer {
    return this.#clock.timer(ms, () => {
      this.#expired = !this.signal.aborted;
      this.#controller.abort(new DOMException("deadline exceeded", "TimeoutError"));
    });
  }
}

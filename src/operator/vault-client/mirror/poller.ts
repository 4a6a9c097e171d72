import { Backoff } from "../../../lib/backoff.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import { isVaultError, TransientError } from "../vault-error.ts";

export interface PollerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Time in ms from the start of one poll to the start of the next. */
  readonly intervalMs: number;
  /** Returns the time in ms until the next known change, if any. A failure is retried with backoff. */
  readonly poll: (signal: AbortSignal) => Promise<number | undefined>;
}

type PollerState =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly timer: Timer }
  | { readonly kind: "polling"; readonly again: boolean }
  | { readonly kind: "stopped" };

/**
 * Polls once per interval, immediately on request, and 1 s … 5 min with jitter after a failure. Never runs two polls
 * concurrently.
 */
export class Poller implements AsyncDisposable {
  readonly #options: PollerOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  #state: PollerState = { kind: "idle" };
  #running: Promise<void> = Promise.resolve();

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#backoff = new Backoff({ baseMs: 1_000, maxMs: 300_000 }, options.random);
  }

  /** Polls immediately; while a poll is in progress, once more after it. */
  soon(): void {
    const state = this.#state;
    switch (state.kind) {
      case "stopped":
        return;
      case "polling":
        this.#state = { kind: "polling", again: true };
        return;
      case "waiting":
        state.timer[Symbol.dispose]();
        break;
      case "idle":
        break;
    }
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#state.kind === "waiting") this.#state.timer[Symbol.dispose]();
    this.#state = { kind: "stopped" };
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#state = { kind: "polling", again: false };
      const delay = await this.#pollOnce();
      const state = this.#current();
      if (state.kind !== "polling") return;
      if (!state.again) {
        this.#state = { kind: "waiting", timer: this.#options.clock.timer(delay, () => this.#wake()) };
        return;
      }
    }
  }

  #wake(): void {
    this.#running = this.#run();
  }

  /** Polls once and returns the delay in ms before the next poll. */
  async #pollOnce(): Promise<number> {
    const { clock, intervalMs, poll } = this.#options;
    const start = clock.monotonic();
    try {
      const dueInMs = await poll(this.#stop.signal);
      this.#backoff.reset();
      const regular = Math.max(0, intervalMs - (clock.monotonic() - start));
      return Math.min(regular, dueInMs ?? regular);
    } catch (error) {
      return this.#delayAfter(error);
    }
  }

  #delayAfter(error: unknown): number {
    const least = isVaultError(error) && "retryAfterMs" in error ? (error.retryAfterMs ?? 0) : 0;
    // No request was sent, so this is not another failure.
    if (error instanceof TransientError && error.code === "circuit_open") return least;
    return Math.max(least, this.#backoff.next());
  }

  /** Re-reads `#state`: TypeScript keeps the narrowed type across the `await`. */
  #current(): PollerState {
    return this.#state;
  }
}

import { Backoff } from "../../../lib/backoff.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import { isVaultError, TransientError } from "../vault-error.ts";

export interface PollerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** From the start of one poll to the start of the next. */
  readonly intervalMs: number;
  /** Answers in how many milliseconds something is known to change, if anything is; a failure is retried with a growing delay. */
  readonly poll: (signal: AbortSignal) => Promise<number | undefined>;
}

type PollerState =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly timer: Timer }
  | { readonly kind: "polling"; readonly again: boolean }
  | { readonly kind: "stopped" };

/** Says when to poll: once an interval, at once when asked, after 1 s … 5 min with jitter when it failed. Never two at a time. */
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

  /** Polls at once; while one poll is under way, once more after it. */
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

  /** One poll; answers the delay before the next. */
  async #pollOnce(): Promise<number> {
    const { clock, intervalMs, poll } = this.#options;
    const start = clock.monotonic();
    try {
      const known = await poll(this.#stop.signal);
      this.#backoff.reset();
      const regular = Math.max(0, intervalMs - (clock.monotonic() - start));
      return Math.min(regular, known ?? regular);
    } catch (error) {
      return this.#delayAfter(error);
    }
  }

  #delayAfter(error: unknown): number {
    const least = isVaultError(error) && "retryAfterMs" in error ? (error.retryAfterMs ?? 0) : 0;
    // Nothing was tried, so nothing failed once more.
    if (error instanceof TransientError && error.code === "circuit_open") return least;
    return Math.max(least, this.#backoff.next());
  }

  /** A look at the state that the compiler does not believe to know already. */
  #current(): PollerState {
    return this.#state;
  }
}

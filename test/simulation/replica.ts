import type { Clock, Timer } from "../../src/lib/clock.ts";
import { sleepByTimer } from "../lab/clock/sleep-by-timer.ts";

/** Timers that a process may start within one millisecond. */
const MAX_TIMERS_PER_MS = 10_000;

/** A timer of a process. A disposed one does not fire either when the process was suspended. */
class ProcessTimer implements Timer {
  pending: Timer | undefined;
  readonly run: () => void;
  #isDisposed = false;

  constructor(fire: () => void) {
    this.run = () => this.#isDisposed || fire();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.pending?.[Symbol.dispose]();
  }
}

/**
 * The clock of one operator process. It stands still while the process is suspended, although time
 * goes by: its timers fire late, all at the end. After a crash it never fires again. Its wall clock
 * may be wrong.
 */
export class ProcessClock implements Clock {
  /**
   * Called instead of a timer when there are far too many at one time: the process is in a loop.
   */
  readonly #onLoop: () => void;
  #timersAt = 0;
  #timers = 0;
  /** Error of the wall clock in milliseconds. */
  skewMs = 0;
  /** Start and end of each suspension, in monotonic milliseconds. */
  readonly #suspensions: { readonly from: number; to: number }[] = [];
  readonly #clock: Clock;
  readonly #late: (() => void)[] = [];
  #state: "running" | "suspended" | "dead" = "running";

  constructor(clock: Clock, onLoop: () => void) {
    this.#clock = clock;
    this.#onLoop = onLoop;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  timer(ms: number, fire: () => void): Timer {
    const timer = new ProcessTimer(fire);
    if (this.#isLoop()) this.#onLoop();
    // Timers of Node take whole milliseconds, and at least one.
    else timer.pending = this.#clock.timer(Math.max(1, Math.ceil(ms)), () => this.#run(timer.run));
    return timer;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepByTimer(this, ms, signal);
  }

  /** Resolves once the process runs; never after a crash. `undefined` if it runs. */
  running(): Promise<void> | undefined {
    return this.#state === "running" ? undefined : new Promise((resolve) => this.#run(resolve));
  }

  /**
   * Returns the time since when the process has not run for `withinMs` without a suspension, in
   * monotonic milliseconds; `undefined` if it just has.
   */
  suspendedAt(withinMs: number): number | undefined {
    let since: number | undefined;
    for (const { from, to } of this.#suspensions.toReversed()) {
      if ((since ?? this.monotonic()) - to >= withinMs) break;
      since = from;
    }
    return since;
  }

  suspend(): void {
    if (this.#state !== "running") return;
    this.#state = "suspended";
    this.#suspensions.push({ from: this.monotonic(), to: Infinity });
  }

  resume(): void {
    if (this.#state !== "suspended") return;
    this.#state = "running";
    for (const suspension of this.#suspensions.slice(-1)) suspension.to = this.monotonic();
    for (const run of this.#late.splice(0)) run();
  }

  crash(): void {
    this.#state = "dead";
    this.#late.length = 0;
  }

  #isLoop(): boolean {
    const now = Math.floor(this.#clock.monotonic());
    this.#timers = now === this.#timersAt ? this.#timers + 1 : 0;
    this.#timersAt = now;
    return this.#timers > MAX_TIMERS_PER_MS;
  }

  #run(action: () => void): void {
    if (this.#state === "running") action();
    else if (this.#state === "suspended") this.#late.push(action);
  }
}

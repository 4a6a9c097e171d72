import type { Clock, Timer } from "../../../../lib/clock.ts";

/** Interval of the checks, in milliseconds: short enough to notice a change within a second. */
const INTERVAL_MS = 500;

interface ExternalChangesOptions {
  readonly clock: Clock;
  /** Returns a number that each commit of another connection changes. */
  readonly version: () => Promise<number>;
  /** Called after commits of other connections. */
  readonly changed: () => void;
}

/** Notices commits of other processes by one cheap read for all that wait, until disposed. */
export class ExternalChanges implements Disposable {
  readonly #options: ExternalChangesOptions;
  #known: number | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: ExternalChangesOptions) {
    this.#options = options;
  }

  /** Checks for the first time, and then repeatedly. */
  async start(): Promise<void> {
    const { clock, version, changed } = this.#options;
    // While the file cannot be read, nothing that waits could be read either.
    const current = await version().catch(() => this.#known);
    if (this.#known !== undefined && current !== this.#known) changed();
    this.#known = current;
    if (!this.#stopped) this.#timer = clock.timer(INTERVAL_MS, () => void this.start());
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
  }
}

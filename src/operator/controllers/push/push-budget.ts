import type { Clock } from "../../../lib/clock.ts";

/** Maximum number of versions that pushes write to one entry within {@link WINDOW_MS}. */
const MAX_VERSIONS = 30;
const WINDOW_MS = 3_600_000;

interface Write {
  /** Monotonic, in milliseconds. */
  readonly at: number;
  /**
   * Time since the epoch in milliseconds at which it no longer counts: messages show the same time
   * in each reconcile.
   */
  readonly until: number;
}

/**
 * Limits the versions that all pushes of this process write to one entry of a vault, whatever
 * causes them: a loop over several Secrets and entries looks like a user who rotates a value. A
 * restart of the process forgets them: what continues then is limited again.
 */
export class PushBudget {
  readonly #clock: Clock;
  /** The last writes by entry. The entry that was written least recently comes first. */
  readonly #writes = new Map<string, readonly Write[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns when the entry can be written again; `undefined`: now. */
  exhausted(entry: string): { readonly waitMs: number; readonly message: string } | undefined {
    const oldest = this.#writes.get(entry)?.at(-MAX_VERSIONS);
    const waitMs = oldest === undefined ? 0 : oldest.at + WINDOW_MS - this.#clock.monotonic();
    if (oldest === undefined || waitMs <= 0) return undefined;
    const until = new Date(oldest.until).toISOString();
    return {
      waitMs,
      message: `${MAX_VERSIONS} versions were pushed within an hour; the next one follows at ${until}`,
    };
  }

  /** Counts a version that was written. */
  count(entry: string): void {
    const at = this.#clock.monotonic();
    const before = this.#writes.get(entry) ?? [];
    this.#writes.delete(entry);
    this.#writes.set(
      entry,
      [...before, { at, until: this.#clock.now() + WINDOW_MS }].slice(-MAX_VERSIONS),
    );
    for (const [other, writes] of this.#writes) {
      if ((writes.at(-1)?.at ?? 0) + WINDOW_MS > at) break;
      this.#writes.delete(other);
    }
  }
}

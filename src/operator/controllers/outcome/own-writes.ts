import type { Clock } from "../../../lib/clock.ts";

/** Identifies a state of an object. */
export interface Versioned {
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * A write of this process and its monotonic time: the object as the API server returned it, or the
 * uid of a deleted one.
 */
export type OwnWrite<T> = { readonly at: number } & (
  | { readonly wrote: T }
  | { readonly deletedUid: string }
);

/**
 * Maximum lag in milliseconds of a watch that does not show the object of an own write at all, or
 * still another one of its name; after that the watch is trusted again. See
 * docs/design/engine.md#wake-ups.
 */
export const WATCH_LAG_MS = 20_000;

/**
 * Reports whether version `a` precedes `b`. `false` if they are not numbers: the watch is trusted
 * then.
 */
export function isOlder(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}

/**
 * Reports whether the watch does not show this write yet. An older state of the same object proves
 * that, for however long a silent watch shows it. Otherwise `false` after {@link WATCH_LAG_MS}: the
 * object may have been deleted during a gap of the watch.
 */
export function isAheadOfWatch<T extends Versioned>(
  write: OwnWrite<T>,
  watched: T | undefined,
  now: number,
): boolean {
  const isRecent = now - write.at < WATCH_LAG_MS;
  if ("deletedUid" in write) return isRecent && watched?.uid === write.deletedUid;
  if (watched === undefined) return isRecent;
  return (
    (isRecent || watched.uid === write.wrote.uid) &&
    isOlder(watched.resourceVersion, write.wrote.resourceVersion)
  );
}

/**
 * Stores the writes of this process that the watch has not shown yet: a reconcile right after a
 * write sees the write.
 */
export class OwnWrites<T extends Versioned> {
  /** In the order of the writes. */
  readonly #writes = new Map<string, OwnWrite<T> & { readonly wrote: T }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#writes.size;
  }

  /**
   * Stores an object as the API server returned it. Drops all entries that are too old to matter.
   */
  recordWrite(key: string, object: T): void {
    const now = this.#clock.monotonic();
    this.#writes.delete(key);
    this.#writes.set(key, { at: now, wrote: object });
    for (const [oldest, { at }] of this.#writes) {
      if (now - at < WATCH_LAG_MS) return;
      this.#writes.delete(oldest);
    }
  }

  /** Drops the entry of a deleted object. */
  forget(key: string): void {
    this.#writes.delete(key);
  }

  /**
   * Reports whether a state that the watch shows is a remembered write, or older than one. If it is
   * the write, keeps the watched object instead of the equal one that the API server returned: the
   * store has the watched one anyway.
   */
  observe(key: string, shown: T): boolean {
    const write = this.#writes.get(key);
    if (write?.wrote.uid !== shown.uid || this.#clock.monotonic() - write.at >= WATCH_LAG_MS)
      return false;
    if (write.wrote.resourceVersion !== shown.resourceVersion)
      return isOlder(shown.resourceVersion, write.wrote.resourceVersion);
    this.#writes.set(key, { at: write.at, wrote: shown });
    return true;
  }

  /** Returns the newest known state: `watched`, or what this process wrote since. */
  newest(key: string, watched: T): T {
    const write = this.#writes.get(key);
    if (write === undefined) return watched;
    if (isAheadOfWatch(write, watched, this.#clock.monotonic())) return write.wrote;
    this.#writes.delete(key);
    return watched;
  }
}

import type { Clock } from "../../../lib/clock.ts";

interface Versioned {
  readonly uid: string;
  readonly resourceVersion: string;
}

type OwnWrite<T> = { readonly at: number } & ({ readonly wrote: T } | { readonly deletedUid: string });

/** Maximum lag of the watch behind an own write, in milliseconds; after that the watch is trusted again. */
export const WATCH_LAG_MS = 20_000;

/** Reports whether version `a` precedes `b`. `false` if they are not numbers, so that the watch is trusted then. */
function isOlder(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}

/**
 * Stores the writes of this process that the watch has not shown yet, so that a reconcile right after a write sees it. An entry
 * is dropped when the watch shows it or something newer, and after {@link WATCH_LAG_MS} in any case: the object may have been
 * deleted during a gap of the watch.
 */
export class OwnWrites<T extends Versioned> {
  readonly #writes = new Map<string, OwnWrite<T>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Stores an object as the API server returned it. */
  recordWrite(key: string, object: T): void {
    this.#writes.set(key, { at: this.#clock.monotonic(), wrote: object });
  }

  /** Stores that this process deleted the object with this uid. */
  recordDelete(key: string, uid: string): void {
    this.#writes.set(key, { at: this.#clock.monotonic(), deletedUid: uid });
  }

  /** Drops the entry, because the watch shows that the object is gone. */
  forget(key: string): void {
    this.#writes.delete(key);
  }

  /** Returns the newest known state: `watched`, or what this process wrote since. */
  newest(key: string, watched: T | undefined): T | undefined {
    const write = this.#writes.get(key);
    if (write === undefined) return watched;
    const fresh = this.#clock.monotonic() - write.at < WATCH_LAG_MS;
    if (fresh && "wrote" in write && (watched === undefined || isOlder(watched.resourceVersion, write.wrote.resourceVersion))) {
      return write.wrote;
    }
    if (fresh && "deletedUid" in write && watched?.uid === write.deletedUid) return undefined;
    this.#writes.delete(key);
    return watched;
  }
}

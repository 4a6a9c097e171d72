import type { Clock } from "../../../lib/clock.ts";

interface Versioned {
  readonly uid: string;
  readonly resourceVersion: string;
}

type OwnWrite<T> = { readonly at: number } & ({ readonly wrote: T } | { readonly deletedUid: string });

/** How long the watch may lag before it is believed again, in milliseconds. */
export const WATCH_LAG_MS = 20_000;

/** API servers' resourceVersions are numbers that grow; where they are not, the watch is believed. */
function isOlder(a: string, b: string): boolean {
  return /^\d+$/.test(a) && /^\d+$/.test(b) && BigInt(a) < BigInt(b);
}

/**
 * What this process wrote and the watch has not shown yet, so that a second look right after a write sees what it wrote.
 * An entry goes when the watch shows it or something newer, and in any case after {@link WATCH_LAG_MS}: the object may have been deleted
 * during a gap of the watch.
 */
export class OwnWrites<T extends Versioned> {
  readonly #writes = new Map<string, OwnWrite<T>>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wrote(key: string, object: T): void {
    this.#writes.set(key, { at: this.#clock.monotonic(), wrote: object });
  }

  deleted(key: string, uid: string): void {
    this.#writes.set(key, { at: this.#clock.monotonic(), deletedUid: uid });
  }

  /** The watch says that the object is gone. */
  forget(key: string): void {
    this.#writes.delete(key);
  }

  /** The newest state known: `watched`, or what we wrote since. */
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

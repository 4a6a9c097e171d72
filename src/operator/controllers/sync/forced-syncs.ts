import type { Clock } from "../../../lib/clock.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import type { Connection } from "../../vault-client/connection.ts";

/** Maximum time in milliseconds for which a forced sync waits for its list: the vault may be unavailable. */
export const FORCED_LIST_MS = 10_000;

interface ForcedList {
  readonly id: string;
  ended: boolean;
}

/** Reports whether the annotation vaultsync.dev/force-sync has a value that the status does not echo yet. */
export const isForced = ({ forceSync }: SyncResource, before: SyncStatus): boolean =>
  forceSync !== undefined && forceSync !== before.lastForceSync;

/** The lists that forced syncs wait for: one for each value of the annotation. */
export class ForcedSyncs {
  readonly #clock: Clock;
  readonly #requeue: (key: string) => void;
  readonly #lists = new Map<string, ForcedList>();

  /** @param requeue called with the key of a resource whose list has ended */
  constructor(clock: Clock, requeue: (key: string) => void) {
    this.#clock = clock;
    this.#requeue = requeue;
  }

  /** Lists the vault once. Returns whether that has ended, successfully or not; otherwise the resource is requeued then. */
  hasListed(key: string, { uid, forceSync }: SyncResource, connection: Connection): boolean {
    const id = JSON.stringify([uid, forceSync]);
    const known = this.#lists.get(key);
    if (known?.id === id) return known.ended;
    const list = { id, ended: false };
    this.#lists.set(key, list);
    const limit = new AbortController();
    const timer = this.#clock.timer(FORCED_LIST_MS, () => limit.abort(new Error("the list takes too long")));
    const end = (): void => {
      timer[Symbol.dispose]();
      list.ended = true;
      this.#requeue(key);
    };
    // The result of a failure is the health of the connection, which the next reconcile reports.
    void connection.listAgain(limit.signal).then(end, end);
    return false;
  }

  forget(key: string): void {
    this.#lists.delete(key);
  }
}

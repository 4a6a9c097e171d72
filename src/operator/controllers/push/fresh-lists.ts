import type { Clock } from "../../../lib/clock.ts";
import type { Connection } from "../../vault-client/connection.ts";

/** Maximum time in milliseconds of one attempt to list: the vault may be unavailable. */
export const FRESH_LIST_MS = 10_000;

interface FreshList {
  readonly connection: Connection;
  state: "listing" | "listed" | "failed";
}

/** The lists that forced syncs and removals wait for. No worker waits for a list: its end requeues the resource. */
export class FreshLists {
  readonly #clock: Clock;
  readonly #requeue: (key: string) => void;
  readonly #lists = new Map<string, FreshList>();

  /** @param requeue called with the key of a resource whose list has ended */
  constructor(clock: Clock, requeue: (key: string) => void) {
    this.#clock = clock;
    this.#requeue = requeue;
  }

  /** Lists the vault, unless that was done since {@link forget}. Returns whether a list has arrived that was requested since. */
  hasListed(key: string, connection: Connection): boolean {
    const known = this.#lists.get(key);
    if (known?.connection === connection && known.state !== "failed") return known.state === "listed";
    const list: FreshList = { connection, state: "listing" };
    this.#lists.set(key, list);
    const limit = new AbortController();
    const timer = this.#clock.timer(FRESH_LIST_MS, () => limit.abort(new Error("the list takes too long")));
    const end = (state: FreshList["state"]): void => {
      timer[Symbol.dispose]();
      list.state = state;
      if (this.#lists.get(key) === list) this.#requeue(key);
    };
    // The reason of a failure is the health of the connection, which the next reconcile reports.
    void connection.listAgain(limit.signal).then(
      () => end("listed"),
      () => end("failed"),
    );
    return false;
  }

  forget(key: string): void {
    this.#lists.delete(key);
  }
}

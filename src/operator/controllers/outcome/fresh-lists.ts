import type { Clock } from "../../../lib/clock.ts";
import type { Connection, EntryKind } from "../../vault-client/connection.ts";
import { TransientError } from "../../vault-client/vault-error.ts";

/**
 * Maximum time in milliseconds for which a resource waits for its list before it reports that as a
 * failure.
 */
export const FRESH_LIST_MS = 10_000;

/**
 * The state of a list that a resource requested: it has not ended, it has succeeded, or why it
 * failed first and has not succeeded since.
 */
export type FreshListState = "requested" | "listed" | Error;

interface FreshList {
  readonly request: string;
  readonly connection: Connection;
  readonly kinds: readonly EntryKind[];
  state: FreshListState;
  /** Aborted when nothing waits for the list any more. */
  readonly abort: AbortController;
  isListing: boolean;
}

/**
 * The lists that forced syncs and removals wait for, one for each resource. No reconcile waits for
 * a list: its end requeues the resource, and so does the end of each further one until one has
 * succeeded.
 */
export class FreshLists {
  readonly #clock: Clock;
  readonly #requeue: (key: string) => void;
  readonly #lists = new Map<string, FreshList>();

  /**
   * @param requeue called with the key of a resource whose list has changed its state, or was tried
   * again
   */
  constructor(clock: Clock, requeue: (key: string) => void) {
    this.#clock = clock;
    this.#requeue = requeue;
  }

  /**
   * Lists the vault for a request of a resource, the first time and after each failure. Each
   * request has a separate list.
   */
  request(
    key: string,
    request: string,
    connection: Connection,
    kinds: readonly EntryKind[],
  ): FreshListState {
    const known = this.#lists.get(key);
    if (known?.request === request && known.connection === connection)
      return this.#continue(key, known);
    this.forget(key);
    const list: FreshList = {
      request,
      connection,
      kinds,
      state: "requested",
      abort: new AbortController(),
      isListing: false,
    };
    this.#lists.set(key, list);
    return this.#continue(key, list);
  }

  /**
   * Returns why the list that a resource requested failed, until a list succeeds through this
   * connection, and tries again.
   */
  failure(key: string, connection: Connection): Error | undefined {
    const known = this.#lists.get(key);
    if (known === undefined || !(known.state instanceof Error)) return undefined;
    if (known.connection === connection) return this.#failed(key, known, known.state);
    this.forget(key);
    return undefined;
  }

  /** Forgets the list of a resource that has reported its state, unless that is a failure. */
  reported(key: string): void {
    if (this.#lists.get(key)?.state === "listed") this.#lists.delete(key);
  }

  forget(key: string): void {
    this.#lists.get(key)?.abort.abort();
    this.#lists.delete(key);
  }

  #continue(key: string, list: FreshList): FreshListState {
    if (list.state !== "listed" && !list.isListing) this.#list(key, list);
    return list.state;
  }

  #failed(key: string, list: FreshList, error: Error): Error {
    this.#continue(key, list);
    return error;
  }

  #list(key: string, list: FreshList): void {
    const { connection, kinds, abort } = list;
    const end = (state: FreshListState): void => {
      if (abort.signal.aborted) return;
      // The first failure stays: further failures do not change what is reported.
      if (state === "listed" || list.state === "requested") list.state = state;
      this.#requeue(key);
    };
    const fail = (error: Error): void => end(connection.health.error ?? error);
    const late = (): void => fail(new TransientError("list_no_dup", "timeout"));
    const timer = list.state === "requested" ? this.#clock.timer(FRESH_LIST_MS, late) : undefined;
    list.isListing = true;
    void Promise.all(kinds.map((kind) => connection.listAgain(kind, abort.signal)))
      .finally(() => {
        timer?.[Symbol.dispose]();
        list.isListing = false;
      })
      .then(
        () => end("listed"),
        (error: unknown) =>
          fail(error instanceof Error ? error : new Error("not an error", { cause: error })),
      );
  }
}

import type { Clock, Timer } from "../../../lib/clock.ts";
import type { OpenConnection } from "./connection-state.ts";

/**
 * Time in milliseconds for which the session of a deleted connection is kept. A deletion that waits
 * longer for a connection keeps its entries.
 */
const LEAVING_MS = 5 * 60_000;

interface Leaving {
  readonly connection: OpenConnection;
  readonly timer: Timer;
}

/**
 * The sessions of connections that were deleted before the VaultPushes that have entries to delete:
 * the deletion of a namespace, and a GitOps tool that prunes, delete both in any order.
 */
export class LeavingConnections implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #leaving = new Map<string, Leaving>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keeps the session of a connection until its time is over, or `end`. */
  add(key: string, connection: OpenConnection): void {
    const timer = this.#clock.timer(LEAVING_MS, () => void this.end(key));
    this.#leaving.set(key, { connection, timer });
  }

  get(key: string): OpenConnection | undefined {
    return this.#leaving.get(key)?.connection;
  }

  /** Ends the session of a connection, if there is one. */
  async end(key: string): Promise<void> {
    const leaving = this.#leaving.get(key);
    if (leaving === undefined) return;
    this.#leaving.delete(key);
    leaving.timer[Symbol.dispose]();
    await leaving.connection.connection[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#leaving.keys()].map((key) => this.end(key)));
  }
}

import type { Clock, Timer } from "../../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** Requests per second of all connections together, unless their intervals require more. */
const MIN_PER_SECOND = 40;
/** Maximum burst of these requests, for the logins and lists of a few connections. */
const BURST = 5;
/** Share of the rate that the regular lists of all connections may need. */
const REGULAR_SHARE = 0.5;

/** `first`: of a connection that was never listed and whose resources wait; `later`: any other. */
type Turn = "first" | "later";

/**
 * Spreads the logins and lists of all connections of the process: the vaults do not receive them
 * all in one second after a start with a thousand connections or at the end of an outage. The first
 * requests of each connection take precedence. A single new connection passes immediately.
 */
export class ListGate {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  /** Waiting requests by turn, in order of arrival. */
  readonly #waiting: Readonly<Record<Turn, Set<() => void>>> = {
    first: new Set(),
    later: new Set(),
  };
  /** Regular lists per second of the open connections. */
  #regularPerSecond = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    const perSecond = (): number =>
      Math.max(MIN_PER_SECOND, this.#regularPerSecond / REGULAR_SHARE) - BURST;
    this.#bucket = new TokenBucket({ clock, perSecond, burst: BURST });
  }

  /** Counts a connection that lists once per interval, until the returned handle is disposed. */
  register(intervalMs: number): Disposable {
    const perSecond = 1_000 / intervalMs;
    this.#regularPerSecond += perSecond;
    return { [Symbol.dispose]: () => void (this.#regularPerSecond -= perSecond) };
  }

  /** Waits for the turn of one request; rejects with the signal's reason. */
  async enter(turn: Turn, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => reject(signal.reason);
    const waiting = this.#waiting[turn];
    waiting.add(resolve);
    signal.addEventListener("abort", abort, { once: true });
    this.#admit();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      waiting.delete(resolve);
      if (this.#next === undefined) this.#timer?.[Symbol.dispose]();
    }
  }

  get #next(): (() => void) | undefined {
    const { first, later } = this.#waiting;
    return first.values().next().value ?? later.values().next().value;
  }

  #admit(): void {
    this.#timer?.[Symbol.dispose]();
    for (let next = this.#next; next !== undefined; next = this.#next) {
      if (!this.#bucket.take()) {
        this.#timer = this.#clock.timer(this.#bucket.nextInMs, () => this.#admit());
        return;
      }
      this.#waiting.first.delete(next);
      this.#waiting.later.delete(next);
      next();
    }
  }
}

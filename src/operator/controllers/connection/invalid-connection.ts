import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Listed, staleAt, stalenessOf } from "../../connection/list-age.ts";
import type { Staleness } from "../../sync/staleness.ts";

/**
 * Time in milliseconds after which a connection is stale that was never open in this process: three
 * intervals of the default.
 */
const STALE_MS = 180_000;

type OpenedBefore = Listed & { readonly stale: Staleness | undefined };

export interface InvalidConnectionOptions {
  readonly clock: Clock;
  readonly message: string;
  readonly reason: Reason;
  /** State of the connection before; `undefined`: this process has not opened it. */
  readonly before: OpenedBefore | InvalidConnection | undefined;
  /** The staleness that an earlier process published. */
  readonly published: Staleness | undefined;
  readonly onStale: () => void;
}

/** A connection that cannot be opened. Its last list becomes stale as with an open one. */
export class InvalidConnection implements Disposable {
  readonly message: string;
  /** Time of the last list, in milliseconds since the epoch. */
  readonly #since: number;
  /** Monotonic time from which the connection is stale. */
  readonly #staleAt: number;
  readonly #timer: Timer | undefined;
  #stale: Staleness | undefined;

  constructor(options: InvalidConnectionOptions) {
    const { clock, message, reason, before, published, onStale } = options;
    this.message = message;
    this.#stale = before === undefined ? published : before.stale;
    if (before instanceof InvalidConnection) {
      this.#since = before.#since;
      this.#staleAt = before.#staleAt;
    } else {
      this.#since = before === undefined ? clock.now() : stalenessOf(before).since;
      this.#staleAt = before === undefined ? clock.monotonic() + STALE_MS : staleAt(before);
    }
    if (this.#stale !== undefined) return;
    this.#timer = clock.timer(Math.max(0, this.#staleAt - clock.monotonic()), () => {
      this.#stale = { since: this.#since, reason };
      onStale();
    });
  }

  get stale(): Staleness | undefined {
    return this.#stale;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }
}

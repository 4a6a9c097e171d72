import type { Clock } from "../../../lib/clock.ts";
import type { Consumer, ConsumerUse } from "../store/records.ts";
import { pagesOf } from "../store/all-pages.ts";
import type { Store } from "../store/store.ts";
import { WRITE_INTERVAL_MS } from "../store/tables/consumer-table.ts";

/** Consumers that are kept of one entry. */
export const CONSUMERS_PER_ENTRY = 50;
/** Rows that one transaction writes: too few to delay other writers. */
const BATCH_SIZE = 100;
/** Maximum number of noted uses, and of known uses of the last minute. */
const MAX_NOTED = 20_000;
const MAX_KNOWN = 100_000;

type NotedUse = ConsumerUse & Pick<Consumer, "readAt">;

const rowOf = ({ kind, entryId, consumer, account }: ConsumerUse): string =>
  `${kind} ${entryId} ${consumer} ${account}`;

/**
 * The uses of values by consumers that are not in the store yet: no read waits for their write, and
 * none fails with it.
 */
export class ConsumerUses {
  readonly #clock: Clock;
  /** The last use for each row. */
  #noted = new Map<string, NotedUse>();
  /** Time of the last noted use of each version, for a minute. */
  readonly #known = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes a read, unless the same version was noted within the minute before. */
  note(use: ConsumerUse): void {
    const readAt = this.#clock.now();
    const row = rowOf(use);
    const version = `${row} ${use.version}`;
    const known = this.#known.get(version);
    if (known !== undefined && readAt - known < WRITE_INTERVAL_MS && readAt >= known) return;
    if (this.#noted.size >= MAX_NOTED && !this.#noted.has(row)) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(version, readAt);
    this.#noted.set(row, { ...use, readAt });
  }

  /**
   * Writes the noted uses, each at the cost of its account. After a failure the rest is written the
   * next time. @throws the error of the store
   */
  async record(store: Pick<Store, "write">): Promise<void> {
    this.#forget();
    const noted = [...this.#noted.values()];
    for (const [account, uses] of Map.groupBy(noted, (use) => use.account)) {
      for (const some of pagesOf(uses, BATCH_SIZE)) await this.#write(store, account, some);
    }
  }

  async #write(
    store: Pick<Store, "write">,
    account: string,
    uses: readonly NotedUse[],
  ): Promise<void> {
    await store.write(
      async ({ consumers }) => {
        for (const use of uses)
          await consumers.record(use.kind, use.entryId, use, CONSUMERS_PER_ENTRY);
      },
      { account },
    );
    // A later use of a row may have been noted since.
    for (const use of uses) if (this.#noted.get(rowOf(use)) === use) this.#noted.delete(rowOf(use));
  }

  /** Forgets the times that no longer matter. */
  #forget(): void {
    const until = this.#clock.now() - WRITE_INTERVAL_MS;
    for (const [version, at] of this.#known) if (at <= until) this.#known.delete(version);
  }
}

import type { Clock } from "../../../lib/clock.ts";
import type { Consumer, ConsumerUse } from "../store/records.ts";
import { pagesOf } from "../store/all-pages.ts";
import type { Store } from "../store/store.ts";
import { WRITE_INTERVAL_MS } from "../store/tables/consumer-table.ts";

/** Consumers that are kept of one entry. */
export const CONSUMERS_PER_ENTRY = 50;
/** Rows that one transaction writes: too few to delay other writers. */
const BATCH_SIZE = 100;
/** Maximum number of noted uses of all accounts, and of known uses of the last minute. */
const MAX_NOTED = 20_000;
const MAX_KNOWN = 100_000;

type NotedUse = ConsumerUse & Pick<Consumer, "readAt">;

const rowOf = ({ kind, entryId, consumer }: ConsumerUse): string =>
  `${kind} ${entryId} ${consumer}`;

const knownAs = (use: ConsumerUse): string => `${use.account} ${rowOf(use)} ${use.version}`;

/**
 * The uses of values by consumers that are not in the store yet: no read waits for their write, and
 * none fails with it.
 */
export class ConsumerUses {
  readonly #clock: Clock;
  /** The last use for each row, of each account. */
  readonly #noted = new Map<string, Map<string, NotedUse>>();
  #count = 0;
  /** Time of the last noted use of each version, for a minute. */
  readonly #known = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes a read, unless the same version was noted within the minute before. Above the bound an
   * account replaces the oldest uses of the one with the most; that one notes no further ones.
   */
  note(use: ConsumerUse): void {
    const readAt = this.#clock.now();
    const row = rowOf(use);
    const version = knownAs(use);
    const known = this.#known.get(version);
    if (known !== undefined && readAt - known < WRITE_INTERVAL_MS && readAt >= known) return;
    const own = this.#noted.get(use.account) ?? new Map<string, NotedUse>();
    const isNew = !own.has(row);
    if (isNew && this.#count >= MAX_NOTED && !this.#makeRoom(own.size)) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(version, readAt);
    if (isNew) this.#count += 1;
    this.#noted.set(use.account, own.set(row, { ...use, readAt }));
  }

  /** Removes a use of the account with the most, for one that has clearly fewer. */
  #makeRoom(fewer: number): boolean {
    let most: Map<string, NotedUse> = new Map();
    for (const uses of this.#noted.values()) if (uses.size > most.size) most = uses;
    const [oldest] = most.values();
    if (!oldest || most.size <= fewer + 1) return false;
    this.#remove(oldest);
    this.#known.delete(knownAs(oldest));
    return true;
  }

  /** Removes a use, unless a later one of its row was noted since. */
  #remove(use: NotedUse): void {
    const uses = this.#noted.get(use.account);
    if (uses?.get(rowOf(use)) !== use) return;
    uses.delete(rowOf(use));
    if (uses.size === 0) this.#noted.delete(use.account);
    this.#count -= 1;
  }

  /**
   * Writes the noted uses, each at the cost of its account. After a failure the rest is written the
   * next time. @throws the error of the store
   */
  async record(store: Pick<Store, "write">): Promise<void> {
    this.#forget();
    const noted = [...this.#noted].map(([account, uses]) => [account, [...uses.values()]] as const);
    for (const [account, uses] of noted) {
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
    for (const use of uses) this.#remove(use);
  }

  /** Forgets the times that no longer matter. */
  #forget(): void {
    const until = this.#clock.now() - WRITE_INTERVAL_MS;
    for (const [version, at] of this.#known) if (at <= until) this.#known.delete(version);
  }
}

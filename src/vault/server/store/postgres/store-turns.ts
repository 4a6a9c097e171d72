import { createHash } from "node:crypto";
import type { Clock } from "../../../../lib/clock.ts";
import { Slots } from "../../../../lib/slots.ts";
import { FairSlots } from "./fair-slots.ts";
import { StoreUnavailableError, type Writer } from "../store.ts";

/** Maximum writes of one account admitted at a time. Further ones wait without a connection. */
const PER_ACCOUNT = 2;
/**
 * Writes of all accounts that have a connection: the rest of the pool is left to reads and to the
 * server's own writes. Busy accounts get half of them.
 */
const WRITING = { slots: 8, share: PER_ACCOUNT, busy: 4 };
/** The same for reads. */
const READING = { slots: 8, share: 4, busy: 4 };
/** Maximum time that a write or a read waits for its turn, in milliseconds. */
const WAIT_MS = 10_000;
/**
 * First key of the advisory locks of accounts, any number unused in the database. The second one is
 * a digest of the account.
 */
const LOCK_CLASS = 731_820_441;

/**
 * Returns the statement that waits until no other server writes the data of an account, and the one
 * that lets the next one write.
 */
export function accountLock(owner: string): { readonly take: string; readonly release: string } {
  const key = createHash("sha256").update(owner).digest().readInt32BE();
  const release = `SELECT pg_advisory_unlock(${LOCK_CLASS}, ${key})`;
  return { take: `SELECT pg_advisory_lock(${LOCK_CLASS}, ${key})`, release };
}

/**
 * The order of this process's writes and reads. Writes that change the data of one account would conflict,
 * because each changes its usage and the revision of its list: they follow each other. Accounts
 * take turns: a write of one does not wait for the queue of another one, and neither does a read.
 */
export class StoreTurns {
  readonly #clock: Clock;
  readonly #accounts = new Slots(Number.MAX_SAFE_INTEGER, PER_ACCOUNT);
  readonly #owners = new Slots(Number.MAX_SAFE_INTEGER, 1);
  readonly #connections: FairSlots;
  readonly #exclusive = new Slots(1);
  readonly #reads: FairSlots;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#connections = new FairSlots(clock, WRITING);
    this.#reads = new FairSlots(clock, READING);
  }

  /**
   * Runs a write in its turn, with the account whose data it changes.
   * @throws StoreUnavailableError when its turn does not come in time
   */
  async run<T>({ account, ownerOf }: Writer, write: (owner: string) => Promise<T>): Promise<T> {
    return this.#inTime((signal) =>
      this.#accounts.run(
        signal,
        async () => {
          const owner = (await ownerOf?.()) ?? account;
          const connected = (): Promise<T> =>
            this.#connections.run(signal, () => write(owner), account);
          return this.#owners.run(signal, connected, owner);
        },
        account,
      ),
    );
  }

  /**
   * Runs a write alone among such writes, in the turn of its account. @throws
   * StoreUnavailableError
   */
  async alone<T>(account: string, write: () => Promise<T>): Promise<T> {
    return this.#inTime((signal) => this.#exclusive.run(signal, write, account));
  }

  /**
   * Runs a read of an account before it takes a connection. @throws StoreUnavailableError when its
   * turn does not come in time
   */
  async read<T>(account: string, read: () => Promise<T>): Promise<T> {
    return this.#inTime((signal) => this.#reads.run(signal, read, account));
  }

  async #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const waiting = new AbortController();
    // Without effect on work that has started.
    using _timer = this.#clock.timer(WAIT_MS, () =>
      waiting.abort(new StoreUnavailableError("too many requests wait for their turn")),
    );
    return await work(waiting.signal);
  }
}

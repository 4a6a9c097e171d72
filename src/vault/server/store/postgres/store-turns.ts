import { createHash } from "node:crypto";
import type { Clock } from "../../../../lib/clock.ts";
import { Slots } from "../../../../lib/slots.ts";
import { FairSlots } from "../fair-slots.ts";
import { server, StoreUnavailableError, type Party, type Writer } from "../store.ts";

/** Maximum writes of one account admitted at a time. Further ones wait without a connection. */
const PER_ACCOUNT = 2;
/** Writes that have a connection. Busy accounts get half of them together. */
const WRITING = { slots: 4, share: PER_ACCOUNT, busy: 2, busyMs: 100, fadingMs: 1_000 };
/** Wide writes follow each other: each takes as long as many others. */
const WIDE = { slots: 1, share: 1, busy: 1, busyMs: 50, fadingMs: 200 };
/** Reads that have a connection. */
const READING = { slots: 5, share: 3, busy: 3, busyMs: 50, fadingMs: 200 };
/**
 * Maximum connections of one process: with one for the notifications of changes, none of its work
 * waits for a connection. The server's `max_connections` (default 100) is shared by all replicas.
 */
export const CONNECTIONS = WRITING.slots + READING.slots + 1;
/** Maximum time that a write or a read waits for its turn, in milliseconds. */
const WAIT_MS = 10_000;
/**
 * First key of the advisory locks of accounts, any number unused in the database. The second one is
 * a digest of the account.
 */
const LOCK_CLASS = 731_820_441;

/** First key of the advisory lock of wide writes. */
const WIDE_LOCK_CLASS = LOCK_CLASS + 1;

/**
 * Returns the statements that wait until no other server writes the data of an account, and those
 * that let the next one write.
 * @param wide waits for the wide writes of other servers too
 */
export function accountLock(
  owner: string,
  wide = false,
): { readonly take: string; readonly release: string } {
  const key = createHash("sha256").update(owner).digest().readInt32BE();
  const locks = [`${LOCK_CLASS}, ${key}`, ...(wide ? [`${WIDE_LOCK_CLASS}, 0`] : [])];
  const each = (verb: string): string =>
    locks.map((lock) => `SELECT pg_advisory_${verb}(${lock})`).join("; ");
  return { take: each("lock"), release: each("unlock") };
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
  readonly #wide: FairSlots;
  readonly #exclusive = new Slots(1);
  readonly #reads: FairSlots;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#connections = new FairSlots(clock, WRITING);
    this.#wide = new FairSlots(clock, WIDE);
    this.#reads = new FairSlots(clock, READING);
  }

  /**
   * Runs a write in its turn, with the account whose data it changes.
   * @throws StoreUnavailableError when its turn does not come in time
   */
  async run<T>(writer: Writer, write: (owner: string) => Promise<T>): Promise<T> {
    const { account, ownerOf } = writer;
    return this.#inTime((signal) =>
      this.#accounts.run(
        signal,
        async () => {
          const owner = (await ownerOf?.()) ?? account;
          const connected = (): Promise<T> =>
            this.#connections.run(writer, () => write(owner), signal);
          const inTurn =
            writer.wide === true ? this.#afterWide(signal, writer, connected) : connected;
          return this.#owners.run(signal, inTurn, owner);
        },
        account,
      ),
    );
  }

  /** Returns `write`, after the other wide writes before it. */
  #afterWide<T>(signal: AbortSignal, writer: Writer, write: () => Promise<T>): () => Promise<T> {
    return () => this.#wide.run(writer, write, signal);
  }

  /** Runs a write of the server that changes no account's data. @throws StoreUnavailableError */
  async server<T>(write: () => Promise<T>): Promise<T> {
    return this.#inTime((signal) => this.#connections.run(server, write, signal));
  }

  /**
   * Runs a write alone among such writes, in the turn of its account. @throws
   * StoreUnavailableError
   */
  async alone<T>(account: string, write: () => Promise<T>): Promise<T> {
    return this.#inTime((signal) => this.#exclusive.run(signal, write, account));
  }

  /**
   * Runs a read in its turn, before it takes a connection. @throws StoreUnavailableError when its
   * turn does not come in time
   */
  async read<T>(reader: Party, read: () => Promise<T>): Promise<T> {
    return this.#inTime((signal) => this.#reads.run(reader, read, signal));
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

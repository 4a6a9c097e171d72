import type { Clock } from "../../../../lib/clock.ts";

/** Time in which the use of slots by an account is forgotten, to a third of it, in milliseconds. */
const FADING_MS = 200;
/** Use from which an account is busy: a quarter of a slot for the whole time. */
const BUSY_MS = FADING_MS / 4;
/** Number of accounts that are remembered while none of their work waits or runs: the last ones. */
const REMEMBERED = 1000;

interface Account {
  /** Position of its next work, in milliseconds of work of each account. */
  position: number;
  running: number;
  /** In order of arrival. */
  readonly waiting: (() => void)[];
  /** Milliseconds of its work that ended lately, at a time. */
  readonly used: { ms: number; at: number };
}

export interface FairSlotsOptions {
  readonly slots: number;
  /** The most that one account gets. */
  readonly share: number;
  /** The most that busy accounts get together: those that have used much lately. */
  readonly busy: number;
}

/**
 * Runs work of several accounts in a number of slots, by start-time fair queueing: each account
 * gets the same time, and work of an account that asks for little comes next. It finds a free slot,
 * because busy accounts get only some of the slots.
 */
export class FairSlots {
  readonly #clock: Clock;
  readonly #share: number;
  /** Slots for accounts that are not busy. */
  readonly #reserved: number;
  #free: number;
  /** Position of the work that started last. */
  #position = 0;
  /** The ones that ended work last are at the end. */
  readonly #accounts = new Map<string, Account>();
  /** Those whose work waits, in order of arrival and of their last turns. */
  readonly #waiting = new Set<Account>();

  constructor(clock: Clock, { slots, share, busy }: FairSlotsOptions) {
    this.#clock = clock;
    this.#free = slots;
    this.#share = share;
    this.#reserved = slots - busy;
  }

  /**
   * Runs `work` in a slot of an account. @throws the error of the work, or the signal's reason when
   * it is aborted before
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, name: string): Promise<T> {
    signal.throwIfAborted();
    const account = this.#accounts.get(name) ?? this.#added(name);
    if (account.running === 0 && account.waiting.length === 0)
      account.position = Math.max(account.position, this.#position);
    await this.#turn(signal, account);
    const from = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#ended(name, account, this.#clock.monotonic() - from);
    }
  }

  #added(name: string): Account {
    const account = { position: 0, running: 0, waiting: [], used: { ms: 0, at: 0 } };
    this.#accounts.set(name, account);
    return account;
  }

  #turn(signal: AbortSignal, account: Account): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const abort = (): void => {
      account.waiting.splice(account.waiting.indexOf(start), 1);
      if (account.waiting.length === 0) this.#waiting.delete(account);
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    account.waiting.push(start);
    this.#waiting.add(account);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#position = Math.max(this.#position, next.position);
      this.#free -= 1;
      next.running += 1;
      next.waiting.shift()?.();
      // Its further work comes after other work of this position.
      this.#waiting.delete(next);
      if (next.waiting.length > 0) this.#waiting.add(next);
    }
  }

  /** Returns the account whose work starts next, if there is a slot for it. */
  #next(): Account | undefined {
    if (this.#free === 0) return undefined;
    let next: Account | undefined;
    for (const account of this.#waiting) {
      const isFirst = next === undefined || account.position < next.position;
      if (isFirst && this.#mayStart(account)) next = account;
    }
    return next;
  }

  #mayStart(account: Account): boolean {
    if (account.running === this.#share) return false;
    return this.#free > this.#reserved || this.#usedLately(account) < BUSY_MS;
  }

  #usedLately({ used }: Account): number {
    return used.ms * Math.exp((used.at - this.#clock.monotonic()) / FADING_MS);
  }

  #ended(name: string, account: Account, ms: number): void {
    account.used.ms = this.#usedLately(account) + ms;
    account.used.at = this.#clock.monotonic();
    account.position += ms;
    account.running -= 1;
    this.#free += 1;
    this.#accounts.delete(name);
    this.#accounts.set(name, account);
    this.#forget();
    this.#startNext();
  }

  /** Strangers choose names, such as digests of tokens: a bounded number is remembered. */
  #forget(): void {
    if (this.#accounts.size <= REMEMBERED) return;
    for (const [name, { running, waiting }] of this.#accounts) {
      if (running > 0 || waiting.length > 0) continue;
      this.#accounts.delete(name);
      return;
    }
  }
}

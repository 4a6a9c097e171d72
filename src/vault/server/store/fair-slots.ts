import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Party } from "./store.ts";

/** Number of accounts that are remembered while none of their work waits or runs: the last ones. */
const REMEMBERED = 1000;

interface Account {
  /** Position of its next work, in milliseconds of work of each account. */
  position: number;
  running: number;
  /** By login, in the order of their turns. */
  readonly waiting: Map<string, (() => void)[]>;
  /** Milliseconds of its work that ended lately, at a time. */
  readonly used: { ms: number; at: number };
}

/** Waits until work may start, if it may not yet, of an account that has had more or less than others. */
type Ready = (isAhead: boolean) => Promise<void> | undefined;

export interface FairSlotsOptions {
  readonly slots: number;
  /** The most that one account gets. */
  readonly share: number;
  /** The most that busy accounts get together: those that have used much lately. */
  readonly busy: number;
  /** Use from which an account is busy, in milliseconds of slots. */
  readonly busyMs: number;
  /** Time in which the use of an account is forgotten, to a third of it, in milliseconds. */
  readonly fadingMs: number;
}

/**
 * Runs work of several accounts in a number of slots, by start-time fair queueing: each account
 * gets the same time, and work of an account that asks for little comes next. It finds a free slot,
 * because busy accounts get only some of the slots. Logins of one account take turns.
 */
export class FairSlots {
  readonly #clock: Clock;
  readonly #share: number;
  /** Slots for accounts that are not busy. */
  readonly #reserved: number;
  readonly #busyMs: number;
  readonly #fadingMs: number;
  readonly #ready: Ready | undefined;
  #free: number;
  /** Position of the work that started last. */
  #position = 0;
  /** The ones that ended work last are at the end. */
  readonly #accounts = new Map<string, Account>();
  /** Those whose work waits, in order of arrival and of their last turns. */
  readonly #waiting = new Set<Account>();
  /** Until a busy account whose work waits is no longer busy, while slots are free. */
  #fading: Timer | undefined;
  /** The account that `ready` lets wait. */
  #unready: Account | undefined;
  /** Called when no work runs or waits. */
  readonly #idle: (() => void)[] = [];
  readonly #slots: number;

  constructor(
    clock: Clock,
    { slots, share, busy, busyMs, fadingMs }: FairSlotsOptions,
    ready?: Ready,
  ) {
    this.#clock = clock;
    this.#ready = ready;
    this.#slots = slots;
    this.#free = slots;
    this.#share = share;
    this.#reserved = slots - busy;
    this.#busyMs = busyMs;
    this.#fadingMs = fadingMs;
  }

  /**
   * Runs `work` in a slot of an account. @throws the error of the work, or the signal's reason when
   * it is aborted before
   */
  async run<T>(
    { account: name, login = "" }: Party,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    signal?.throwIfAborted();
    const account = this.#accounts.get(name) ?? this.#added(name);
    // It saves up no time, and a single work that took long does not delay its next one.
    if (account.running === 0 && account.waiting.size === 0)
      account.position = this.#isBusy(account)
        ? Math.max(account.position, this.#position)
        : this.#position;
    await this.#turn(account, login, signal);
    const from = this.#clock.monotonic();
    try {
      return await work();
    } finally {
      this.#ended(name, account, this.#clock.monotonic() - from);
    }
  }

  #added(name: string): Account {
    const account: Account = {
      position: 0,
      running: 0,
      waiting: new Map(),
      used: { ms: 0, at: 0 },
    };
    this.#accounts.set(name, account);
    return account;
  }

  #turn(account: Account, login: string, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      signal?.removeEventListener("abort", abort);
      resolve();
    };
    const abort = (): void => {
      starts.splice(starts.indexOf(start), 1);
      if (starts.length === 0) account.waiting.delete(login);
      if (account.waiting.size === 0) this.#waiting.delete(account);
      this.#forget();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    const starts = account.waiting.get(login) ?? [];
    starts.push(start);
    account.waiting.set(login, starts);
    this.#waiting.add(account);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      if (next === this.#unready || this.#isToWait(next)) return;
      this.#position = Math.max(this.#position, next.position);
      this.#free -= 1;
      next.running += 1;
      const start = nextOf(next);
      // Its further work comes after other work of this position.
      this.#waiting.delete(next);
      if (next.waiting.size > 0) this.#waiting.add(next);
      start?.();
    }
    this.#startFaded();
  }

  /**
   * Starts work that waits only because its account is busy as soon as it no longer is: other work
   * may run long, and then no end of it comes first.
   */
  #startFaded(): void {
    this.#fading?.[Symbol.dispose]();
    this.#fading = undefined;
    if (this.#free === 0) return;
    const waits = [...this.#waiting]
      .filter((account) => account.running < this.#share)
      .map((account) => this.#fadingMs * Math.log(this.#usedLately(account) / this.#busyMs));
    if (waits.length === 0) return;
    this.#fading = this.#clock.timer(Math.ceil(Math.min(...waits)) + 1, () => this.#startNext());
  }

  /** Reports whether the work of an account may not start yet; then it is tried again later. */
  #isToWait(account: Account): boolean {
    const wait = this.#ready?.(account.position > this.#position);
    if (!wait) return false;
    this.#unready = account;
    void wait.then(() => {
      if (this.#unready === account) this.#unready = undefined;
      this.#startNext();
    });
    return true;
  }

  /** Resolves when no work runs or waits. */
  async idle(): Promise<void> {
    if (this.#free === this.#slots && this.#waiting.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
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
    return this.#free > this.#reserved || !this.#isBusy(account);
  }

  #isBusy(account: Account): boolean {
    return this.#usedLately(account) >= this.#busyMs;
  }

  #usedLately({ used }: Account): number {
    return used.ms * Math.exp((used.at - this.#clock.monotonic()) / this.#fadingMs);
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
    if (this.#free === this.#slots && this.#waiting.size === 0)
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Strangers choose names, such as digests of tokens: a bounded number is remembered. */
  #forget(): void {
    if (this.#accounts.size <= REMEMBERED) return;
    for (const [name, { running, waiting }] of this.#accounts) {
      if (running > 0 || waiting.size > 0) continue;
      this.#accounts.delete(name);
      return;
    }
  }
}

/** Removes and returns the work of an account whose turn it is. */
function nextOf({ waiting }: Account): (() => void) | undefined {
  for (const [login, starts] of waiting) {
    const start = starts.shift();
    // Its further work comes after the work of other logins.
    waiting.delete(login);
    if (starts.length > 0) waiting.set(login, starts);
    return start;
  }
  return undefined;
}

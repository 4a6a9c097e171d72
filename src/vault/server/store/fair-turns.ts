import type { Clock } from "../../../lib/clock.ts";

/** Number of accounts whose time is remembered while work waits: the last ones. */
const REMEMBERED = 1000;

/** Work of one account that waits for its turns. */
interface Account {
  readonly name: string;
  /** Position of its next work, in milliseconds of work of each account. */
  readonly position: number;
  /** In order of arrival; never empty. */
  readonly works: (() => Promise<void>)[];
}

/**
 * Runs work of several accounts one after another, by start-time fair queueing: each account gets
 * the same time, and work of an account that has asked for little comes next, however much work of
 * another account waits.
 */
export class FairTurns {
  readonly #clock: Clock;
  /** In order of arrival, and of their last turns. */
  readonly #waiting = new Map<string, Account>();
  /** Position of the work that runs now, or that ran last. */
  #position = 0;
  /** Positions at which work of accounts has ended, since none waited; the latest at the end. */
  readonly #ended = new Map<string, number>();
  #serving: Promise<void> | undefined;

  /** Resolved when work of an account arrives that has had less than others. */
  #arrival: PromiseWithResolvers<void> | undefined;
  readonly #ready: (isAhead: boolean) => Promise<void> | undefined;

  /**
   * @param ready waits until a turn may begin, if it may not yet, of an account that has had more
   * or less than others
   */
  constructor(
    clock: Clock,
    ready: (isAhead: boolean) => Promise<void> | undefined = () => undefined,
  ) {
    this.#clock = clock;
    this.#ready = ready;
  }

  /** Runs `work` in a turn of an account. @throws the error of the work */
  run<T>(account: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const settled = (): Promise<void> => work().then(resolve, reject);
    const waiting = this.#waiting.get(account);
    if (waiting) waiting.works.push(settled);
    else {
      const arrived = this.#arrived(account, [settled]);
      this.#waiting.set(account, arrived);
      if (!this.#isAhead(arrived)) this.#arrival?.resolve();
    }
    this.#serving ??= this.#serve();
    return promise;
  }

  /** Returns an account whose work waits: it does not save up time in which it asks for nothing. */
  #arrived(name: string, works: Account["works"]): Account {
    return { name, works, position: Math.max(this.#position, this.#ended.get(name) ?? 0) };
  }

  async #serve(): Promise<void> {
    // Work that arrives together is compared before the first one runs.
    await Promise.resolve();
    for (let next = this.#next(); next; next = this.#next()) {
      const wait = this.#ready(this.#isAhead(next));
      if (wait) {
        this.#arrival = Promise.withResolvers();
        await Promise.race([wait, this.#arrival.promise]);
      } else await this.#turn(next);
    }
    this.#ended.clear();
    this.#serving = undefined;
  }

  #isAhead({ position }: Account): boolean {
    return position > this.#position;
  }

  #next(): Account | undefined {
    let next: Account | undefined;
    for (const account of this.#waiting.values())
      if (next === undefined || account.position < next.position) next = account;
    return next;
  }

  async #turn({ name, position, works }: Account): Promise<void> {
    this.#position = position;
    const from = this.#clock.monotonic();
    await works[0]?.();
    works.shift();
    this.#remember(name, position + this.#clock.monotonic() - from);
    // Its further work comes after other work of this position.
    this.#waiting.delete(name);
    if (works.length > 0) this.#waiting.set(name, this.#arrived(name, works));
  }

  /** Strangers choose names, such as digests of tokens: a bounded number is remembered. */
  #remember(name: string, ended: number): void {
    this.#ended.delete(name);
    this.#ended.set(name, ended);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > REMEMBERED && oldest !== undefined) this.#ended.delete(oldest);
  }

  /** Resolves when no work waits. */
  async idle(): Promise<void> {
    await this.#serving;
  }
}

/** The party that waits. */
interface QueueParty {
  readonly account: string;
  readonly network: string;
}

/** Maximum number of waiting parties: of one network and of one account in it. */
interface FairQueueLimits {
  readonly waitingPerNetwork: number;
  readonly waitingPerAccount: number;
}

/** A queue that takes networks in turn, and the accounts of each network in turn. */
class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  /** Waiting entries by network and account, in the order of their turns. */
  readonly #queues = new Map<string, Map<string, T[]>>();
  #length = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds an entry, or returns false when its party has too many. */
  push({ account, network }: QueueParty, entry: T): boolean {
    const { waitingPerNetwork, waitingPerAccount } = this.#limits;
    const accounts = this.#queues.get(network) ?? new Map<string, T[]>();
    const own = accounts.get(account) ?? [];
    const ofNetwork = accounts.values().reduce((sum, { length }) => sum + length, 0);
    if (ofNetwork >= waitingPerNetwork || own.length >= waitingPerAccount) return false;
    own.push(entry);
    this.#queues.set(network, accounts.set(account, own));
    this.#length += 1;
    return true;
  }

  shift(): T | undefined {
    for (const [network, accounts] of this.#queues) {
      for (const [account, entries] of accounts) {
        const entry = entries.shift();
        this.#length -= 1;
        accounts.delete(account);
        if (entries.length > 0) accounts.set(account, entries);
        this.#queues.delete(network);
        if (accounts.size > 0) this.#queues.set(network, accounts);
        return entry;
      }
    }
    return undefined;
  }
}

/**
 * The party that a password is hashed for; the key of its account is the canonical email, or
 * another for jobs that logins must not displace.
 */
export interface HashingParty extends QueueParty {
  /** The account has logged in from this network before. */
  readonly known?: boolean;
}

interface HashingLimits {
  readonly concurrency: number;
  /**
   * Maximum number of waiting jobs: of all, of parties that are not known, of one network and of
   * one account.
   */
  readonly waiting: number;
  readonly waitingUnknown: number;
  readonly waitingPerNetwork: number;
  readonly waitingPerAccount: number;
}

/**
 * Runs a few jobs at a time. Known and unknown parties take turns, so do networks, and so do the
 * accounts of one network: many logins of one party, or from many networks, delay no known one.
 * Throws `overflow()` when too many wait.
 */
export class HashingLimiter {
  readonly #limits: HashingLimits;
  readonly #overflow: () => Error;
  readonly #known: FairQueue<() => void>;
  readonly #unknown: FairQueue<() => void>;
  #running = 0;
  #lastWasKnown = false;

  constructor(limits: HashingLimits, overflow: () => Error) {
    this.#limits = limits;
    this.#overflow = overflow;
    this.#known = new FairQueue(limits);
    this.#unknown = new FairQueue(limits);
  }

  async run<T>(party: HashingParty, job: () => Promise<T>): Promise<T> {
    // A finished job hands its slot over, so the count is unchanged.
    if (this.#running >= this.#limits.concurrency) await this.#wait(party);
    else this.#running += 1;
    try {
      return await job();
    } finally {
      const next = this.#next();
      if (next) next();
      else this.#running -= 1;
    }
  }

  #wait(party: HashingParty): Promise<void> {
    const { waiting, waitingUnknown } = this.#limits;
    const { promise, resolve } = Promise.withResolvers<void>();
    const isFull = this.#known.length + this.#unknown.length >= waiting;
    const queue = party.known === true ? this.#known : this.#unknown;
    if (
      isFull ||
      (queue === this.#unknown && queue.length >= waitingUnknown) ||
      !queue.push(party, resolve)
    )
      throw this.#overflow();
    return promise;
  }

  #next(): (() => void) | undefined {
    const [first, second] = this.#lastWasKnown
      ? [this.#unknown, this.#known]
      : [this.#known, this.#unknown];
    const queue = first.length > 0 ? first : second;
    this.#lastWasKnown = queue === this.#known;
    return queue.shift();
  }
}

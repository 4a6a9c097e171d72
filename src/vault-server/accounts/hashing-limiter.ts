/** The party that a password is hashed for. */
export interface HashingParty {
  /** Key of the account: its canonical email, or another for jobs that its logins must not displace. */
  readonly account: string;
  readonly network: string;
}

interface HashingLimits {
  readonly concurrency: number;
  /** Maximum number of waiting jobs: of all, of one network and of one account. */
  readonly waiting: number;
  readonly waitingPerNetwork: number;
  readonly waitingPerAccount: number;
}

/**
 * Runs a few jobs at a time. Networks take turns, and so do the accounts of one network, so that many logins of one party delay no other
 * one; throws `overflow()` when too many wait.
 */
export class HashingLimiter {
  readonly #limits: HashingLimits;
  readonly #overflow: () => Error;
  #running = 0;
  #waiting = 0;
  /** Starts of waiting jobs by network and account; whose turn is next comes first. */
  readonly #queues = new Map<string, Map<string, (() => void)[]>>();

  constructor(limits: HashingLimits, overflow: () => Error) {
    this.#limits = limits;
    this.#overflow = overflow;
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

  #wait({ account, network }: HashingParty): Promise<void> {
    const { waiting, waitingPerNetwork, waitingPerAccount } = this.#limits;
    const accounts = this.#queues.get(network) ?? new Map<string, (() => void)[]>();
    const own = accounts.get(account) ?? [];
    const ofNetwork = accounts.values().reduce((sum, { length }) => sum + length, 0);
    if (this.#waiting >= waiting || ofNetwork >= waitingPerNetwork || own.length >= waitingPerAccount) throw this.#overflow();
    this.#queues.set(network, accounts.set(account, own));
    this.#waiting += 1;
    return new Promise((resolve) => own.push(resolve));
  }

  #next(): (() => void) | undefined {
    for (const [network, accounts] of this.#queues) {
      for (const [account, starts] of accounts) {
        const start = starts.shift();
        this.#waiting -= 1;
        accounts.delete(account);
        if (starts.length > 0) accounts.set(account, starts);
        this.#queues.delete(network);
        if (accounts.size > 0) this.#queues.set(network, accounts);
        return start;
      }
    }
    return undefined;
  }
}

/** The party that waits. */
export interface QueueParty {
  readonly account: string;
  readonly network: string;
}

/** Maximum number of waiting parties: of one network and of one account in it. */
interface FairQueueLimits {
  readonly waitingPerNetwork: number;
  readonly waitingPerAccount: number;
}

/** A queue in which networks take turns, and so do the accounts of one network. */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  /** Waiting entries by network and account; whose turn is next comes first. */
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

/**
 * Numbers of names of a connection that its vault listed, of targets that they feed, and of those
 * that disappeared together.
 */
export interface Losses {
  readonly names: number;
  readonly lostNames: number;
  /** Targets that these names feed. */
  readonly targets: number;
  readonly lostTargets: number;
}

/** One open connection to a vault. */
export interface BlastMember {
  /**
   * Arrival of the oldest of its last lists, in monotonic milliseconds: -∞ if one is missing, ∞
   * while the connection is stale and no list is expected.
   */
  readonly heardAt: number;
  /** The same before its last list. */
  readonly heardBefore: number;
  /** Returns its losses: names whose removal is not proven yet, and names that are held. */
  losses(): Losses;
  /** Returns the same, together with all names that are missing and whose bytes targets have. */
  missing(): Losses;
  /**
   * Holds the removals of what it lost until a user confirms them. Returns whether they are more
   * than before.
   */
  hold(): boolean;
  /** Called when the loss of another connection made this one hold more names. */
  onHeld(): void;
  /** Lists as soon as possible. */
  listSoon(): void;
}

/** Names or targets that may disappear together: this share, or fewer than this number. */
const MAX_SHARE = 0.2;
const MIN_HELD = 5;

const isTooMany = (lost: number, all: number): boolean =>
  lost >= MIN_HELD && lost > MAX_SHARE * all;

/** Reports whether so much is lost that a fault is likelier than an intention. */
function exceeds(losses: Iterable<Losses>): boolean {
  const sum = { names: 0, lostNames: 0, targets: 0, lostTargets: 0 };
  for (const { names, lostNames, targets, lostTargets } of losses) {
    sum.names += names;
    sum.lostNames += lostNames;
    sum.targets += targets;
    sum.lostTargets += lostTargets;
  }
  return isTooMany(sum.lostNames, sum.names) || isTooMany(sum.lostTargets, sum.targets);
}

/**
 * The connections of this process to one vault. Their losses are counted together; see
 * docs/design/engine.md#removals.
 */
export class BlastLimit {
  readonly #members = new Set<BlastMember>();
  /**
   * The connection whose list is being processed: losses of other connections are still pending if
   * they waited for this list.
   */
  #listing: BlastMember | undefined;

  join(member: BlastMember): void {
    this.#members.add(member);
  }

  /** Removes a connection. Returns whether it was the last one. */
  leave(member: BlastMember): boolean {
    this.#members.delete(member);
    return this.#members.size === 0;
  }

  /**
   * Starts a hold of one connection, or of all, if too much disappeared with what the last list of
   * `member` lacks. `isResumed`: an earlier process has seen that. Nothing says what else
   * disappeared with it: all that is missing counts.
   */
  check(member: BlastMember, isResumed = false): void {
    this.#listing = member;
    const lossesOf = (each: BlastMember): Losses => (isResumed ? each.missing() : each.losses());
    if (member.losses().lostNames > 0) {
      if (exceeds([lossesOf(member)])) member.hold();
      if (exceeds(this.#all(lossesOf))) this.#hold();
    }
    this.#listing = undefined;
  }

  /** Reports whether too much is missing, of the connection or of the vault, whenever it was lost. */
  isExceeded(member: BlastMember): boolean {
    return exceeds([member.missing()]) || exceeds(this.#all((each) => each.missing()));
  }

  /**
   * Reports whether every connection has listed since then: losses from the same fault are counted.
   */
  isHeardSince(at: number): boolean {
    for (const member of this.#members) {
      if ((member === this.#listing ? member.heardBefore : member.heardAt) < at) return false;
    }
    return true;
  }

  /** Makes the connections list that did not since. */
  listSoon(at: number): void {
    for (const member of this.#members) if (member.heardAt < at) member.listSoon();
  }

  #all(lossesOf: (member: BlastMember) => Losses): readonly Losses[] {
    return [...this.#members].map((member) => lossesOf(member));
  }

  #hold(): void {
    for (const member of this.#members)
      if (member.hold() && member !== this.#listing) member.onHeld();
  }
}

/** The blast limits of all vaults that this process has connections to, whatever their shard. */
export class BlastLimits {
  readonly #ofOrigin = new Map<string, BlastLimit>();

  /**
   * Adds a connection to the vault at this URL. Returns the limit of the vault, and a function that
   * removes the connection.
   */
  join(
    url: string,
    member: BlastMember,
  ): { readonly limit: BlastLimit; readonly leave: () => void } {
    const origin = URL.parse(url)?.origin ?? url;
    const limit = this.#ofOrigin.get(origin) ?? new BlastLimit();
    this.#ofOrigin.set(origin, limit);
    limit.join(member);
    const leave = (): void => {
      if (limit.leave(member)) this.#ofOrigin.delete(origin);
    };
    return { limit, leave };
  }
}

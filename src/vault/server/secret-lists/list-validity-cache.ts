/** Maximum number of users; the lists of further users are sent in full. */
const MAX_USERS = 10_000;

/**
 * Period in which the list of a revision does not change: no deadline passes and nothing expires.
 */
interface Validity {
  readonly revision: string;
  readonly from: number;
  readonly until: number;
}

/**
 * Remembers for each user's list how long it stays valid. An entry is known from reading the whole
 * list.
 */
export class ListValidityCache {
  readonly #known = new Map<string, Validity>();

  remember(email: string, validity: Validity): void {
    // The earliest start is kept: older entity tags stay valid.
    if (this.#at(email, validity.revision, validity.from)) return;
    this.#known.delete(email);
    this.#known.set(email, validity);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_USERS && oldest !== undefined) this.#known.delete(oldest);
  }

  #at(email: string, revision: string, timestamp: number): Validity | undefined {
    const validity = this.#known.get(email);
    return validity?.revision === revision &&
      validity.from <= timestamp &&
      timestamp < validity.until
      ? validity
      : undefined;
  }

  /** Returns the earliest time since which the list of this revision is known to be unchanged. */
  since(email: string, revision: string, timestamp: number): number {
    return this.#at(email, revision, timestamp)?.from ?? timestamp;
  }

  /**
   * Returns the time until which the list of this revision is known to be the same as at
   * `timestamp`: `timestamp` itself when no more is known.
   */
  until(email: string, revision: string, timestamp: number): number {
    return this.#at(email, revision, timestamp)?.until ?? timestamp;
  }

  /** Reports whether the list of this revision is known to be the same at both times. */
  isSame(email: string, revision: string, one: number, other: number): boolean {
    return (
      one === other ||
      (this.#at(email, revision, one) !== undefined &&
        this.#at(email, revision, other) !== undefined)
    );
  }
}

/** For how many people it is known; the others' lists are sent once more. */
const MOST = 10_000;

interface Steady {
  readonly revision: string;
  readonly from: number;
  readonly until: number;
}

/**
 * Between which moments each person's list of one revision did, and will, not change by itself: no deadline passes, nothing expires.
 * What it knows was seen by reading a whole list.
 */
export class SteadyLists {
  readonly #known = new Map<string, Steady>();

  remember(email: string, steady: Steady): void {
    // The earliest moment is kept: tags of all moments since stay good.
    if (this.#at(email, steady.revision, steady.from)) return;
    this.#known.delete(email);
    this.#known.set(email, steady);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST && oldest !== undefined) this.#known.delete(oldest);
  }

  #at(email: string, revision: string, moment: number): Steady | undefined {
    const steady = this.#known.get(email);
    return steady?.revision === revision && steady.from <= moment && moment < steady.until ? steady : undefined;
  }

  /** The first moment from which on the list of this revision is certainly what it is at this one. */
  since(email: string, revision: string, moment: number): number {
    return this.#at(email, revision, moment)?.from ?? moment;
  }

  /** Whether the list of this revision is certainly the same at both moments. */
  isSame(email: string, revision: string, one: number, other: number): boolean {
    return one === other || (this.#at(email, revision, one) !== undefined && this.#at(email, revision, other) !== undefined);
  }
}

import type { EntryKind } from "../../vault-client/connection.ts";
import type { Selection } from "./connection-users.ts";

/**
 * The first list without a name: its number among the lists of its kind, and its arrival in
 * monotonic milliseconds.
 */
export interface Absence {
  readonly list: number;
  readonly at: number;
  /** The vault had announced that it would remove the entry by then. */
  readonly isDue: boolean;
}

/**
 * The referenced names of one kind: listed ones and ones that disappeared; or the names that are
 * listed, but without an entry of one selection.
 */
export class ListedNames {
  readonly kind: EntryKind;
  /** `undefined`: the names themselves. */
  readonly selection: Selection | undefined;
  readonly listed = new Set<string>();
  readonly absences = new Map<string, Absence>();
  /** Names that disappeared, and whose removal is not proven yet. */
  readonly gone = new Set<string>();
  /** Names that disappeared together, and that a user has to confirm. */
  readonly held = new Set<string>();
  /**
   * Names in {@link held} whose keys no resource removes. They wait for a user as soon as a resource
   * removes those keys.
   */
  readonly waived = new Set<string>();
  /** Names in {@link waived} whose removal is proven: their loss does not count any more. */
  readonly settled = new Set<string>();

  constructor(kind: EntryKind, selection?: Selection) {
    this.kind = kind;
    this.selection = selection;
  }

  /** Records that the list has this name. */
  found(name: string): void {
    this.#isBack(name);
    this.listed.add(name);
  }

  /** Records that the list lacks this name. `wasServed`: it was listed before the first list. */
  missed(name: string, absence: () => Absence, wasServed: () => boolean): void {
    if (this.absences.has(name)) return;
    this.absences.set(name, absence());
    if (this.listed.delete(name) || wasServed()) this.gone.add(name);
  }

  /** Takes over the absence of a name, and whether it is held, from names that select more. */
  takeOver(name: string, wider: ListedNames): void {
    const absence = wider.absences.get(name);
    if (absence === undefined) return;
    if (!this.absences.has(name)) this.absences.set(name, absence);
    for (const state of ["gone", "held", "waived", "settled"] as const)
      if (wider[state].has(name)) this[state].add(name);
  }

  /** Drops what is known about the names that this does not select. */
  prune(isKept: (name: string) => boolean): void {
    for (const name of [...this.listed, ...this.absences.keys()])
      if (!isKept(name)) this.forget(name);
  }

  forget(name: string): void {
    this.listed.delete(name);
    this.#isBack(name);
  }

  /**
   * Holds the names that disappeared: all, or one of them. Returns whether a user has to confirm
   * more than before.
   */
  hold(isRemoved: (name: string, isDue: boolean) => boolean, one?: string): boolean {
    for (const name of one === undefined ? [...this.gone] : [one]) {
      this.gone.delete(name);
      this.held.add(name);
      this.waived.add(name);
    }
    return this.reconsider(isRemoved, one);
  }

  /**
   * Decides again which of the held names a user has to confirm, or whether one is among them: a
   * policy may have changed. Returns whether they are more than before.
   */
  reconsider(isRemoved: (name: string, isDue: boolean) => boolean, one?: string): boolean {
    let isMore = false;
    for (const name of one === undefined ? this.held : [one]) {
      if (!isRemoved(name, this.absences.get(name)?.isDue === true)) {
        this.waived.add(name);
        continue;
      }
      isMore = this.waived.delete(name) || isMore;
      this.settled.delete(name);
    }
    return isMore;
  }

  /** Stops to count the losses that are proven. Returns whether there are any. */
  settle(isPending: (absence: Absence) => boolean): boolean {
    const isProven = (name: string): boolean => {
      const absence = this.absences.get(name);
      return absence === undefined || !isPending(absence);
    };
    const proven = [...this.gone].filter(isProven);
    const kept = [...this.waived].filter((name) => !this.settled.has(name) && isProven(name));
    for (const name of proven) this.gone.delete(name);
    for (const name of kept) this.settled.add(name);
    return proven.length + kept.length > 0;
  }

  /** Records that a user confirmed the losses. */
  confirm(): void {
    for (const names of [this.gone, this.held, this.waived, this.settled]) names.clear();
  }

  /** Returns the held names that a user has to confirm now. */
  unconfirmed(): readonly string[] {
    return [...this.held].filter((name) => !this.waived.has(name));
  }

  /** Returns the names that count as lost. */
  lost(): readonly string[] {
    return [...this.gone, ...[...this.held].filter((name) => !this.settled.has(name))];
  }

  #isBack(name: string): void {
    for (const names of [this.gone, this.held, this.waived, this.settled]) names.delete(name);
    this.absences.delete(name);
  }
}

import type { EntryKind } from "../../vault-client/connection.ts";
import type { RemovalFacts, Selection } from "./connection-users.ts";

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

/** Knowledge about the bytes that targets have of a name that a list lacks. */
export interface KnownBytes {
  /** The name was listed before the first list. */
  readonly wasServed: () => boolean;
  /** It was not, and a target has its bytes. */
  readonly isKept: () => boolean;
  /** A status shows that a user had to confirm its removal. */
  readonly isUnconfirmed: () => boolean;
  /** A target has its bytes: bytes of another name under its key do not count. */
  readonly hasOwnBytes: () => boolean;
}

/** Returns what resources show of an entry that a list lacks. */
export const knownBytes = (
  facts: Pick<RemovalFacts, "wasServed" | "hasBytes" | "isUnconfirmed" | "hasOwnBytes">,
  ...entry: Parameters<RemovalFacts["hasBytes"]>
): KnownBytes => ({
  wasServed: () => facts.wasServed(...entry),
  isKept: () => facts.hasBytes(...entry),
  isUnconfirmed: () => facts.isUnconfirmed(...entry),
  hasOwnBytes: () => facts.hasOwnBytes(...entry),
});

/** Reports whether a resource removes a key if this entry is gone: `isDue`, at its deadline. */
type IsRemoved = (name: string, isDue: boolean) => boolean;

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
  /**
   * Names that disappeared together until a user confirms them or they are listed again, also while
   * no spec refers to them.
   */
  readonly unconfirmed = new Set<string>();
  /** Names that disappeared, and whose keys no resource removes until a policy changes. */
  readonly kept = new Set<string>();
  /** Names in {@link kept} that do not count as lost when further names disappear. */
  readonly settled = new Set<string>();
  /** Absent names of which no target was known to have bytes: none of them counts as lost. */
  readonly unserved = new Set<string>();

  constructor(kind: EntryKind, selection?: Selection) {
    this.kind = kind;
    this.selection = selection;
  }

  /** Names that a user has to confirm now. */
  get held(): readonly string[] {
    return [...this.unconfirmed].filter((name) => this.#isHeld(name));
  }

  /** Records that the list has this name. */
  found(name: string): void {
    this.forget(name);
    this.listed.add(name);
  }

  /** Records that the list lacks this name. */
  missed(
    name: string,
    absence: () => Absence,
    { wasServed, isKept, isUnconfirmed, hasOwnBytes }: KnownBytes,
  ): void {
    if (this.absences.has(name)) return;
    this.absences.set(name, absence());
    if (this.listed.delete(name)) return void this.gone.add(name);
    if (isUnconfirmed()) this.unconfirmed.add(name);
    else if (!hasOwnBytes()) this.unconfirmed.delete(name);
    const isServed = wasServed();
    if (!isServed && !isKept()) return void this.unserved.add(name);
    if (!isServed) for (const names of [this.kept, this.settled]) names.add(name);
    else if (!this.unconfirmed.has(name)) this.gone.add(name);
  }

  /** Counts a name as lost that a target has bytes of after all. Its absence begins now. */
  lose(name: string, { list, at }: Absence): void {
    this.absences.set(name, { list, at, isDue: this.#isDue(name) });
    this.unserved.delete(name);
    if (!this.unconfirmed.has(name)) this.gone.add(name);
  }

  /**
   * Lets the absence of a name begin again, unless it is counted: a resource refers to the name whose
   * bytes were not compared with the lists.
   */
  beginAgain(name: string): void {
    const isCounted = [this.gone, this.unconfirmed, this.kept].some((names) => names.has(name));
    if (this.absences.has(name) && !isCounted) this.#drop(name);
  }

  /** Takes over the absence of a name, and whether it is held, from names that select more. */
  takeOver(name: string, wider: ListedNames): void {
    const absence = wider.absences.get(name);
    if (absence === undefined) return;
    if (!this.absences.has(name)) this.absences.set(name, absence);
    for (const state of ["gone", "unconfirmed", "kept", "settled", "unserved"] as const)
      if (wider[state].has(name)) this[state].add(name);
  }

  /** Drops what is known about the names that this does not select, except who has to confirm them. */
  prune(isKept: (name: string) => boolean): void {
    for (const name of [...this.listed, ...this.absences.keys()])
      if (!isKept(name)) this.#drop(name);
  }

  forget(name: string): void {
    this.unconfirmed.delete(name);
    this.#drop(name);
  }

  /** Holds the names that disappeared and whose keys are removed: all, or one of them. */
  hold(isRemoved: IsRemoved, one?: string): void {
    this.keep(isRemoved);
    for (const name of this.gone) {
      if (one !== undefined && name !== one) continue;
      this.gone.delete(name);
      this.unconfirmed.add(name);
    }
  }

  /** Keeps the names that disappeared and whose keys no resource removes. */
  keep(isRemoved: IsRemoved): void {
    for (const name of [...this.gone, ...this.held]) {
      if (isRemoved(name, this.#isDue(name))) continue;
      this.gone.delete(name);
      this.kept.add(name);
    }
  }

  /** Returns the kept names whose keys a resource removes now. */
  released(isRemoved: IsRemoved): readonly string[] {
    return [...this.kept].filter((name) => isRemoved(name, this.#isDue(name)));
  }

  /** Counts kept names as lost again, or holds them: also those that no user has confirmed. */
  release(released: readonly string[], isHeld: boolean): void {
    for (const name of released) {
      this.kept.delete(name);
      this.settled.delete(name);
      if (isHeld) this.unconfirmed.add(name);
      else if (!this.unconfirmed.has(name)) this.gone.add(name);
    }
  }

  /** Stops to count the losses that are proven. Returns whether there are any. */
  settle(isPending: (absence: Absence) => boolean): boolean {
    const isProven = (name: string): boolean => {
      const absence = this.absences.get(name);
      return absence === undefined || !isPending(absence);
    };
    const gone = [...this.gone].filter(isProven);
    const kept = [...this.kept].filter((name) => !this.settled.has(name) && isProven(name));
    for (const name of gone) this.gone.delete(name);
    for (const name of kept) this.settled.add(name);
    return gone.length + kept.length > 0;
  }

  /** Records that a user confirmed the losses. */
  confirm(): void {
    this.gone.clear();
    for (const name of this.held)
      for (const names of [this.unconfirmed, this.unserved]) names.delete(name);
    for (const name of this.kept) this.settled.add(name);
  }

  /** Returns the names that count as lost together with further ones. */
  lost(): readonly string[] {
    return this.missing((name) => !this.settled.has(name));
  }

  /** Returns the lost names, and these kept ones. */
  missing(isCounted: (name: string) => boolean): readonly string[] {
    return [...this.gone, ...this.held, ...[...this.kept].filter(isCounted)];
  }

  #isDue(name: string): boolean {
    return this.absences.get(name)?.isDue === true;
  }

  #isHeld(name: string): boolean {
    return this.absences.has(name) && !this.kept.has(name);
  }

  #drop(name: string): void {
    for (const names of [this.listed, this.gone, this.kept, this.settled, this.unserved])
      names.delete(name);
    this.absences.delete(name);
  }
}

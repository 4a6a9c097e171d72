import type { EntryKind, Snapshot, SnapshotChange } from "../../vault-client/connection.ts";
import { isPattern } from "../../vault-client/pattern.ts";

/** Knowledge about the names that resources refer to, apart from the lists. */
export interface RemovalFacts {
  isReferenced(kind: EntryKind, name: string): boolean;
  /** Reports whether a resource names the entry itself. Other entries are referenced by patterns. */
  isNamed(kind: EntryKind, name: string): boolean;
  /** Number of names of both kinds that resources name. */
  readonly referenceCount: number;
  /** Reports whether a resource shows that it has the bytes of this entry, which was listed before this connection was opened. */
  wasServed(kind: EntryKind, name: string): boolean;
}

const kinds = ["secret", "file"] as const;

/** Number of lists in a row, and of intervals, for which a name must be absent before its keys are removed. */
const PROOF_LISTS = 3;
const PROOF_INTERVALS = 2;
/** Names that may disappear within one interval: this share of the referenced ones, or fewer than this number. */
const MAX_SHARE = 0.2;
const MIN_HELD = 5;

interface Absence {
  /** Number and arrival, in monotonic milliseconds, of the first list without the name. */
  readonly list: number;
  readonly at: number;
}

/** The referenced names of one kind: those that were listed, and those that disappeared. */
class Names {
  readonly listed = new Set<string>();
  readonly absences = new Map<string, Absence>();
  /** Names that disappeared and that no hold has covered yet. */
  readonly gone = new Set<string>();
  readonly held = new Set<string>();

  /** Takes in that the list has this name, or lacks it. */
  observe(name: string, isListed: boolean, absence: Absence, wasServed: () => boolean): void {
    if (isListed) {
      this.listed.add(name);
      this.forget(name);
    } else if (!this.absences.has(name)) {
      this.absences.set(name, absence);
      if (this.listed.delete(name) || wasServed()) this.gone.add(name);
    }
  }

  /** Drops the absence of a name. */
  forget(name: string): void {
    this.absences.delete(name);
    this.gone.delete(name);
    this.held.delete(name);
  }
}

/**
 * The names that disappeared from the lists of one open connection: for how long, and whether there are so many that every
 * removal of keys and targets is held; see docs/design/engine.md#removals.
 */
export class Removals {
  readonly #intervalMs: number;
  readonly #facts: RemovalFacts;
  readonly #names: Readonly<Record<EntryKind, Names>> = { secret: new Names(), file: new Names() };

  constructor(intervalMs: number, facts: RemovalFacts) {
    this.#intervalMs = intervalMs;
    this.#facts = facts;
  }

  /** Number of names for whose disappearance all removals are held; 0: none are. */
  get held(): number {
    return this.#names.secret.held.size + this.#names.file.held.size;
  }

  /** Takes in a list: call it with every change, before any resource sees the snapshot. */
  observe(snapshot: Snapshot, change: SnapshotChange): void {
    this.#observe("secret", snapshot, change.secrets, (name) => snapshot.secrets(name).length > 0);
    this.#observe("file", snapshot, change.files, (name) => snapshot.file(name) !== undefined);
    this.prune();
    this.#hold(snapshot.listedAtMonotonic);
  }

  /** Forgets names that no resource refers to any more. */
  prune(): void {
    for (const kind of kinds) {
      const names = this.#names[kind];
      for (const name of names.listed) if (!this.#facts.isReferenced(kind, name)) names.listed.delete(name);
      for (const name of names.absences.keys()) if (!this.#facts.isReferenced(kind, name)) names.forget(name);
    }
  }

  /** A user confirmed the removals that are held. */
  confirm(): void {
    for (const names of Object.values(this.#names)) names.held.clear();
  }

  /**
   * Returns how much longer a name must be absent, in milliseconds, to count as deleted; 0 if it does. One failed list is not
   * evidence, nor are several within a second.
   */
  untilProven(snapshot: Snapshot, kind: EntryKind, name: string): number {
    const absence = this.#names[kind].absences.get(name);
    const progress = snapshot.progress(kind);
    if (absence === undefined || progress === undefined) return Number.POSITIVE_INFINITY;
    const left = absence.at + PROOF_INTERVALS * this.#intervalMs - progress.at;
    if (left > 0) return left;
    return progress.lists - absence.list + 1 >= PROOF_LISTS ? 0 : this.#intervalMs;
  }

  #observe(kind: EntryKind, snapshot: Snapshot, changed: ReadonlySet<string>, isListed: (name: string) => boolean): void {
    const progress = snapshot.progress(kind);
    if (progress === undefined) return;
    const absence = { list: progress.lists, at: progress.at };
    for (const name of changed) {
      if (isPattern(name)) continue;
      this.#names[kind].observe(name, isListed(name), absence, () => this.#facts.wasServed(kind, name));
    }
  }

  /** Returns the number of referenced names: those that resources name, and those that their patterns matched. */
  #referenceCount(): number {
    const matched = kinds.flatMap((kind) => {
      const { listed, absences } = this.#names[kind];
      return [...listed, ...absences.keys()].filter((name) => !this.#facts.isNamed(kind, name));
    });
    return this.#facts.referenceCount + matched.length;
  }

  /** Starts or extends the hold if too many names disappeared within the last interval. */
  #hold(now: number): void {
    let recent = 0;
    for (const { gone, absences } of Object.values(this.#names)) {
      for (const name of gone) {
        if ((absences.get(name)?.at ?? 0) <= now - this.#intervalMs) gone.delete(name);
      }
      recent += gone.size;
    }
    const isTooMany = recent >= MIN_HELD && recent > MAX_SHARE * this.#referenceCount();
    if (this.held === 0 && !isTooMany) return;
    for (const { gone, held } of Object.values(this.#names)) {
      for (const name of gone) held.add(name);
      gone.clear();
    }
  }
}

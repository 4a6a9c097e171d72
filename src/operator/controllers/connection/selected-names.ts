import { hasOwner } from "../../api/received-secrets.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import type { Losses } from "./blast-limit.ts";
import type { RemovalFacts, Selection } from "./connection-users.ts";
import { type Absence, ListedNames } from "./listed-names.ts";

const keyOf = (kind: EntryKind, { owner, rule }: Selection): string =>
  JSON.stringify([kind, owner?.toLowerCase(), rule]);

/** Reports whether what `narrow` selects is among what `wide` selects. */
const isWithin = (narrow: Selection, wide: Selection): boolean =>
  (wide.owner === undefined || hasOwner(wide, narrow.owner)) &&
  (wide.rule === undefined || wide.rule === narrow.rule);

/**
 * The names that the lists of a connection have and lack, and the names that they have without an
 * entry of a selection.
 */
export class SelectedNames {
  readonly #ofKind: Readonly<Record<EntryKind, ListedNames>> = {
    secret: new ListedNames("secret"),
    file: new ListedNames("file"),
  };
  readonly #ofSelection = new Map<string, ListedNames>();

  ofKind(kind: EntryKind): ListedNames {
    return this.#ofKind[kind];
  }

  of(kind: EntryKind, selection: Selection): ListedNames {
    const key = keyOf(kind, selection);
    const names = this.#ofSelection.get(key) ?? new ListedNames(kind, selection);
    this.#ofSelection.set(key, names);
    return names;
  }

  all(): readonly ListedNames[] {
    return [this.#ofKind.secret, this.#ofKind.file, ...this.#ofSelection.values()];
  }

  /** Number of names that a user has to confirm. */
  get held(): number {
    const held = this.all().flatMap((names) => names.held.map((name) => `${names.kind} ${name}`));
    return new Set(held).size;
  }

  /** Counts lost names and the targets that they feed, next to all names. */
  count(
    lostOf: (names: ListedNames) => readonly string[],
    { targetsOf }: Pick<RemovalFacts, "targetsOf">,
  ): Losses {
    const [lost, lostTargets, targets] = [new Set<string>(), new Set<string>(), new Set<string>()];
    let names = 0;
    for (const group of this.all()) {
      const { kind, selection } = group;
      const gone = lostOf(group);
      for (const name of gone) {
        lost.add(`${kind} ${name}`);
        for (const target of targetsOf(kind, name, selection)) lostTargets.add(target);
      }
      // Names without an entry of a selection are still listed.
      if (selection !== undefined) continue;
      const all = [...group.listed, ...gone];
      names += all.length;
      for (const name of all) for (const target of targetsOf(kind, name)) targets.add(target);
    }
    return { names, lostNames: lost.size, targets: targets.size, lostTargets: lostTargets.size };
  }

  /** Ends the absence of a name from a selection, if there is one. */
  found(kind: EntryKind, name: string, selection: Selection): void {
    this.#ofSelection.get(keyOf(kind, selection))?.forget(name);
  }

  /**
   * Returns the longest absence of a name: what a wider selection lacks, a narrower one lacks too.
   */
  absence(kind: EntryKind, name: string, selection: Selection = {}): Absence | undefined {
    const [longest] = this.all()
      .filter((one) => one.kind === kind && isWithin(selection, one.selection ?? {}))
      .flatMap(({ absences }) => absences.get(name) ?? [])
      .sort((a, b) => a.at - b.at);
    return longest;
  }

  /** Returns the names among which one is absent that no target was known to have bytes of. */
  unserved(kind: EntryKind, name: string, selection: Selection = {}): readonly ListedNames[] {
    return this.all().filter(
      (one) =>
        one.kind === kind && isWithin(selection, one.selection ?? {}) && one.unserved.has(name),
    );
  }

  /** Drops what is known about the names that this does not select. */
  prune(
    isKept: (kind: EntryKind, name: string, selection: Selection | undefined) => boolean,
  ): void {
    for (const names of this.all())
      names.prune((name) => isKept(names.kind, name, names.selection));
    for (const [key, { absences, unconfirmed }] of this.#ofSelection)
      if (absences.size + unconfirmed.size === 0) this.#ofSelection.delete(key);
  }
}

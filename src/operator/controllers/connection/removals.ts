import type {
  EntryKind,
  ListProgress,
  Snapshot,
  SnapshotChange,
} from "../../vault-client/connection.ts";
import { isPattern } from "../../vault-client/pattern.ts";
import type { BlastLimit, BlastLimits, BlastMember, Losses } from "./blast-limit.ts";
import { hasName, isListedOf, ownersOf, wasAnnounced } from "./listed-owners.ts";
import { type Absence, knownBytes, type KnownBytes, type ListedNames } from "./listed-names.ts";
import type { JoinedNames, MetadataRule, RemovalFacts, Selection } from "./connection-users.ts";
import { isCounted, isPending, isProof, untilOwnProof } from "./removal-proof.ts";
import { SelectedNames } from "./selected-names.ts";

/** An open connection whose lists are observed. */
export interface RemovalsOptions {
  /** The `connectionId`. */
  readonly id: string;
  readonly url: string;
  /** Email address of the account of the connection. */
  readonly account: string;
  readonly intervalMs: number;
  readonly facts: RemovalFacts;
  readonly limits: BlastLimits;
  /** An earlier client of the connection held removals, according to its status. */
  readonly wasHeld: boolean;
  readonly snapshot: () => Snapshot | undefined;
  readonly isStale: () => boolean;
  readonly listSoon: () => void;
  /** Called when the loss of another connection to the vault starts or extends the hold. */
  readonly onHeld: () => void;
}

const kinds = ["secret", "file"] as const;

/**
 * The names that disappeared from the lists of one open connection: for how long, and whether there
 * are so many that every removal of keys and targets is held; see docs/design/engine.md#removals.
 */
export class Removals implements BlastMember, Disposable {
  readonly #options: RemovalsOptions;
  readonly #limit: BlastLimit;
  readonly #leave: () => void;
  readonly #names = new SelectedNames();
  /** The kinds whose first list has not arrived, if an earlier client held removals. */
  readonly #unlisted: Set<EntryKind>;
  /** Counts, until the names change. */
  #losses: Losses | undefined;
  #held: number | undefined;
  /** The references changed since it was decided which names are held. */
  #isOutdated = false;
  /** The last list that changed a name. */
  #before: Snapshot | undefined;

  constructor(options: RemovalsOptions) {
    this.#options = options;
    this.#unlisted = new Set(options.wasHeld ? kinds : []);
    const { limit, leave } = options.limits.join(options.url, this);
    this.#limit = limit;
    this.#leave = leave;
  }

  /** Number of disappeared names because of which all removals are held; 0 without a hold. */
  get held(): number {
    if (this.#isOutdated) this.#reconsider();
    return (this.#held ??= this.#names.held);
  }

  /** An earlier client held removals, and no list says yet whether this one does. */
  get isResuming(): boolean {
    return [...this.#unlisted].some(
      (kind) => kind === "secret" || this.#options.facts.hasReferences(kind),
    );
  }

  get heardAt(): number {
    return this.#oldest(({ at }) => at);
  }

  get heardBefore(): number {
    return this.#oldest(({ previousAt }) => previousAt);
  }

  /** Processes a list: call it with every change, before any resource sees the snapshot. */
  observe(snapshot: Snapshot, change: SnapshotChange): void {
    const wasHeld = this.held > 0;
    this.#observe("secret", snapshot, change.secrets);
    this.#observe("file", snapshot, change.files);
    this.prune();
    const first = [...this.#unlisted].filter((kind) => snapshot.progress(kind) !== undefined);
    for (const kind of first) this.#unlisted.delete(kind);
    if (wasHeld || this.held > 0 || first.length > 0) this.hold();
    this.#limit.check(this, this.#isResumed(snapshot));
    for (const names of this.#names.all()) names.keep(this.#removes(names));
    this.#before = snapshot;
  }

  /** Forgets names that no resource refers to any more. */
  prune(): void {
    const { facts } = this.#options;
    this.#names.prune((...name) => facts.isReferenced(...name));
    this.#changed();
  }

  /**
   * Records that resources refer to other names, feed other targets from them, or keep their keys
   * when they are gone. `joined`: the names that a resource refers to now, and did not before.
   */
  referencesChanged(joined?: JoinedNames): void {
    this.#isOutdated = true;
    const all = this.#names.all().filter(({ kind }) => kind === joined?.kind);
    for (const name of joined?.names ?? []) {
      const absent = all.filter(({ absences }) => absences.has(name));
      if (absent.some(({ kind }) => this.#options.facts.hasOwnBytes(kind, name)))
        for (const names of absent) names.beginAgain(name);
    }
    this.#changed();
  }

  /** A user confirmed the removals that are held. */
  confirm(): void {
    for (const names of this.#names.all()) names.confirm();
    this.#changed();
  }

  hold(): boolean {
    const before = this.held;
    for (const names of this.#names.all()) {
      names.release(this.#released(names), true);
      names.hold(this.#removes(names));
    }
    this.#changed();
    return this.held > before;
  }

  missing(): Losses {
    const { facts } = this.#options;
    return this.#names.count(
      (names) => names.missing((name) => facts.hasBytes(names.kind, name, names.selection)),
      facts,
    );
  }

  losses(): Losses {
    const { snapshot, intervalMs } = this.#options;
    for (const names of this.#names.all()) {
      const progress = snapshot()?.progress(names.kind);
      const isStillPending = (absence: Absence): boolean =>
        progress === undefined || isPending(absence, progress, intervalMs, this.#limit);
      if (names.settle(isStillPending)) this.#changed();
    }
    return (this.#losses ??= this.#names.count((names) => names.lost(), this.#options.facts));
  }

  onHeld(): void {
    this.#options.onHeld();
  }

  listSoon(): void {
    this.#options.listSoon();
  }

  /**
   * Returns the names whose removal the last list of a kind proves, and whose keys a resource
   * removes: call it after every list, also one that changes no name.
   */
  proven(kind: EntryKind): ReadonlySet<string> {
    const proven = new Set<string>();
    const last = this.#options.snapshot()?.progress(kind);
    if (last === undefined) return proven;
    const { intervalMs } = this.#options;
    for (const names of this.#names.all().filter((each) => each.kind === kind)) {
      const isRemoved = this.#removes(names);
      for (const [name, absence] of names.absences) {
        if (isProof(absence, last, intervalMs) && isRemoved(name, absence.isDue)) proven.add(name);
      }
    }
    return proven;
  }

  /**
   * Returns how long a resource waits at most until a missing name counts as deleted, in
   * milliseconds; 0 if it does. `proven` says which list completes the proof: no wait is shorter
   * than an interval, because only lists prove. With a `selection`, the name may be listed, but the
   * list of `snapshot` has no such entry of it. `hasBytes`: a target of the resource has its bytes.
   */
  untilProven(
    snapshot: Snapshot,
    kind: EntryKind,
    name: string,
    selection: Selection | undefined,
    hasBytes: boolean,
  ): number {
    const progress = snapshot.progress(kind);
    if (progress === undefined) return Number.POSITIVE_INFINITY;
    const absence = this.#absence(kind, name, selection, progress, hasBytes);
    if (absence === undefined) return Number.POSITIVE_INFINITY;
    const { intervalMs } = this.#options;
    const left = untilOwnProof(absence, progress, intervalMs);
    if (left > 0) return Math.max(left, intervalMs);
    if (isCounted(absence, progress, intervalMs, this.#limit)) return 0;
    this.#limit.listSoon(absence.at);
    return intervalMs;
  }

  /** Ends the observation. */
  [Symbol.dispose](): void {
    this.#leave();
  }

  /**
   * Reports whether a first list lacks names whose keys an earlier process was about to remove, or
   * held: it may have ended before the status of the connection showed the hold.
   */
  #isResumed(snapshot: Snapshot): boolean {
    const isFirst = (kind: EntryKind): boolean =>
      snapshot.progress(kind) !== undefined && this.#before?.progress(kind) === undefined;
    const { facts } = this.#options;
    return this.#names
      .all()
      .some(
        ({ kind, selection, gone }) =>
          isFirst(kind) && [...gone].some((name) => facts.wasMissing(kind, name, selection)),
      );
  }

  /**
   * Decides again which of the names that disappeared are held: a policy may remove keys that it
   * kept before, of many names together.
   */
  #reconsider(): void {
    this.#isOutdated = false;
    const all = this.#names.all();
    const wasHeld = this.#names.held > 0;
    for (const names of all) names.keep(this.#removes(names));
    const released = all.map((names) => this.#released(names));
    if (released.some(({ length }) => length > 0)) {
      const isHeld = wasHeld || this.#limit.isExceeded(this);
      for (const [at, names] of all.entries()) names.release(released[at] ?? [], isHeld);
    }
    this.#changed();
  }

  /**
   * Returns the kept names whose keys a resource removes now. A resource that was not reconciled
   * since its edit may have none of their bytes.
   */
  #released(names: ListedNames): readonly string[] {
    const { kind, selection } = names;
    return names.released((name, isDue) =>
      this.#options.facts.removesBytes(kind, name, isDue, selection),
    );
  }

  #removes({ kind, selection }: ListedNames): (name: string, isDue: boolean) => boolean {
    return (name, isDue) => this.#options.facts.removes(kind, name, isDue, selection);
  }

  #observe(kind: EntryKind, snapshot: Snapshot, changed: ReadonlySet<string>): void {
    const { facts } = this.#options;
    const before = this.#before;
    const isListed = (name: string): boolean => hasName(snapshot, kind, name);
    const progress = snapshot.progress(kind);
    if (progress === undefined) return;
    const unannounced = { list: progress.lists, at: progress.at, isDue: false };
    const absenceOf = (name: string) => (): Absence => ({
      ...unannounced,
      isDue: kind === "secret" && wasAnnounced(name, snapshot, { ...this.#options, before }),
    });
    const claimed = new Map<string, ReadonlySet<string>>();
    const wasFound = (rule: MetadataRule, name: string): boolean => {
      if (before?.progress(kind) !== undefined) return rule.finds(before);
      const names = claimed.get(rule.id) ?? facts.claimedBy(kind, rule.id);
      claimed.set(rule.id, names);
      return names.has(name);
    };
    for (const name of changed) {
      if (isPattern(name)) continue;
      const rules = [...facts.rulesOf(kind, name)];
      // Before the absence of the name ends: an owner's entry may still be absent.
      if (kind === "secret") this.#observeOwners(name, snapshot, rules, unannounced);
      if (isListed(name)) this.#names.ofKind(kind).found(name);
      else this.#names.ofKind(kind).missed(name, absenceOf(name), knownBytes(facts, kind, name));
      for (const rule of rules) {
        const selection = { rule: rule.id };
        const names = this.#names.of(kind, selection);
        // What the list lacks is among the names of its kind.
        if (!isListed(name) || rule.finds(snapshot)) names.forget(name);
        else if (wasFound(rule, name)) {
          const known = knownBytes(facts, kind, name, selection);
          names.missed(name, () => unannounced, { ...known, wasServed: () => true });
        }
      }
    }
  }

  /**
   * Processes the owners of the listed secrets of a name: an entry of one of them may disappear, or
   * lose its metadata, while another one is still there.
   */
  #observeOwners(
    name: string,
    snapshot: Snapshot,
    rules: readonly MetadataRule[],
    unannounced: Absence,
  ): void {
    const { facts } = this.#options;
    const before = this.#before;
    const servedOf = (selection: Selection): KnownBytes => {
      const known = knownBytes(facts, "secret", name, selection);
      const isReferenced = (): boolean => facts.isReferenced("secret", name, selection);
      return before === undefined ? known : { ...known, wasServed: isReferenced };
    };
    for (const owner of ownersOf(name, snapshot, { ...this.#options, before })) {
      const isListed = isListedOf(snapshot, name, owner);
      if (isListed) this.#names.found("secret", name, { owner });
      else if (snapshot.secrets(name).length > 0) {
        const names = this.#names.of("secret", { owner });
        names.takeOver(name, this.#names.ofKind("secret"));
        names.missed(
          name,
          () => ({
            ...unannounced,
            isDue: wasAnnounced(name, snapshot, { ...this.#options, before }, owner),
          }),
          servedOf({ owner }),
        );
      }
      for (const rule of rules) {
        const selection = { owner, rule: rule.id };
        if (!isListed || rule.finds(snapshot, owner)) this.#names.found("secret", name, selection);
        else if (before === undefined || rule.finds(before, owner))
          this.#names.of("secret", selection).missed(name, () => unannounced, servedOf(selection));
      }
    }
  }

  /**
   * Returns the absence of a name. It begins now if no list was compared with the name or the
   * selection, because its resource or its rule is new, or with the target, because no watch shows
   * it.
   */
  #absence(
    kind: EntryKind,
    name: string,
    selection: Selection | undefined,
    progress: ListProgress,
    hasBytes: boolean,
  ): Absence | undefined {
    const known = this.#names.absence(kind, name, selection);
    const absence = { list: progress.lists, at: progress.at, isDue: false };
    const before = this.held;
    if (known === undefined) {
      // The resource may have seen an earlier list, and a former spec.
      if (selection === undefined && !this.#isMissing(kind, name)) return undefined;
      const names =
        selection === undefined ? this.#names.ofKind(kind) : this.#names.of(kind, selection);
      names.missed(name, () => absence, knownBytes(this.#options.facts, kind, name, selection));
      this.#count(names, name, absence, before);
    }
    for (const names of hasBytes ? this.#names.unserved(kind, name, selection) : []) {
      const first = names.absences.get(name) ?? absence;
      names.lose(name, absence);
      this.#count(names, name, first, before);
    }
    return this.#names.absence(kind, name, selection);
  }

  /**
   * Counts one more name that a list lacks, if it is lost. An earlier client held what the first list
   * lacks. `before`: number of names that were held.
   */
  #count(names: ListedNames, name: string, { list }: Absence, before: number): void {
    const isHeld = before > 0 || (this.#options.wasHeld && list === 1);
    if (isHeld && names.gone.has(name)) names.hold(this.#removes(names), name);
    this.#changed();
    if (names.gone.has(name)) this.#limit.check(this);
    names.keep(this.#removes(names));
    this.#changed();
    if (this.held > before) this.#options.onHeld();
  }

  #isMissing(kind: EntryKind, name: string): boolean {
    const { facts, snapshot } = this.#options;
    return facts.isReferenced(kind, name) && !hasName(snapshot(), kind, name);
  }

  #oldest(arrival: (progress: ListProgress) => number): number {
    const { isStale, snapshot } = this.#options;
    if (isStale()) return Number.POSITIVE_INFINITY;
    const lists = kinds.flatMap((kind) => snapshot()?.progress(kind) ?? []);
    return lists.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...lists.map(arrival));
  }

  #changed(): void {
    this.#losses = undefined;
    this.#held = undefined;
  }
}

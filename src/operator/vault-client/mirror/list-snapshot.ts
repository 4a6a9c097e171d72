import { isPattern, matchesPattern } from "../pattern.ts";
import type { EntryKind, FileRecord, ListProgress, SecretRecord, Snapshot } from "../connection.ts";

type SecretsByName = ReadonlyMap<string, readonly SecretRecord[]>;

/** The referenced entries of one list. */
export interface TrackedList<T> {
  /** Entries by name, with the entries of one name sorted by owner. */
  readonly records: ReadonlyMap<string, readonly T[]>;
  /** The names and patterns that were referenced when the list was read. */
  readonly tracked: ReadonlySet<string>;
  /** The listed names that match each of the patterns. */
  readonly found: ReadonlyMap<string, ReadonlySet<string>>;
  /** For names that the list lacks: another listed name that is nearly the same. */
  readonly near: ReadonlyMap<string, string>;
  /** Number of entries, referenced or not. */
  readonly count: number;
}

/** The arrival of a list, and how many of each kind arrived. */
export interface ListOrigin {
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  readonly progress: Readonly<Record<EntryKind, ListProgress>>;
}

/**
 * Maximum number of absences that are kept. A forgotten one counts as older than it is: nothing is
 * deleted for it.
 */
const MAX_ABSENCES = 10_000;

/** A secret that is no longer listed: by name, and by name and owner. */
interface Absence {
  readonly name: string;
  readonly owner: string | undefined;
  /** Arrival time of the first list without it. */
  readonly since: number;
  /** As the last list with it has it; `undefined` if that list has several of the name. */
  readonly last: SecretRecord | undefined;
}

const absenceKey = (name: string, owner: string | undefined): string =>
  JSON.stringify([name, owner?.toLowerCase()]);

const isOf = (record: SecretRecord, owner: string | undefined): boolean =>
  owner === undefined || (record.owner ?? owner).toLowerCase() === owner.toLowerCase();

const isListed = (secrets: SecretsByName, name: string, owner: string | undefined): boolean =>
  (secrets.get(name) ?? []).some((record) => isOf(record, owner));

/** Reports whether a name still has its only record. */
function isSameOwner(
  before: readonly SecretRecord[],
  now: readonly SecretRecord[] | undefined,
): boolean {
  return before.length === 1 && now?.length === 1 && before[0]?.owner === now[0]?.owner;
}

/**
 * Reports whether a list was searched for a name or a pattern, or for a pattern that the name
 * matches.
 */
function wasSearchedFor(
  { tracked, found }: Pick<TrackedList<unknown>, "tracked" | "found">,
  reference: string,
): boolean {
  if (tracked.has(reference) || isPattern(reference)) return tracked.has(reference);
  return [...found.keys()].some((pattern) => matchesPattern(pattern, reference));
}

/**
 * Returns the absences of the previous list that continue, and the absences that begin with this
 * list.
 */
function absencesAfter(
  before: ListSnapshot,
  list: TrackedList<SecretRecord>,
  since: number,
): ReadonlyMap<string, Absence> {
  const { records } = list;
  const previous = before.secretList.records;
  if (previous === records) return before.absences;
  const absences = new Map(
    [...before.absences].filter(([, { name, owner }]) => !isListed(records, name, owner)),
  );
  for (const [name, earlier] of previous) {
    if (isSameOwner(earlier, records.get(name)) || !wasSearchedFor(list, name)) continue;
    for (const owner of [undefined, ...earlier.flatMap((record) => record.owner ?? [])]) {
      if (isListed(records, name, owner)) continue;
      const [last, ...others] = earlier.filter((record) => isOf(record, owner));
      const record = others.length === 0 ? last : undefined;
      absences.set(absenceKey(name, owner), { name, owner, since, last: record });
    }
  }
  for (const oldest of [...absences.keys()].slice(0, Math.max(0, absences.size - MAX_ABSENCES)))
    absences.delete(oldest);
  return absences;
}

/** A snapshot with the lists from which `changeBetween` computes differences. */
export class ListSnapshot implements Snapshot {
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  readonly #progress: ListOrigin["progress"];
  readonly secretList: TrackedList<SecretRecord>;
  readonly fileList: TrackedList<FileRecord> | undefined;
  readonly absences: ReadonlyMap<string, Absence>;
  /** Arrival time of the first list of the connection. */
  readonly firstListedAt: number;

  /** @param before the previous list of the same connection */
  constructor(
    origin: ListOrigin,
    secretList: TrackedList<SecretRecord>,
    fileList: TrackedList<FileRecord> | undefined,
    before?: ListSnapshot,
  ) {
    this.listedAt = origin.listedAt;
    this.listedAtMonotonic = origin.listedAtMonotonic;
    this.#progress = origin.progress;
    this.secretList = secretList;
    this.fileList = fileList;
    this.absences = before
      ? absencesAfter(before, secretList, origin.listedAt)
      : new Map<string, Absence>();
    this.firstListedAt = before?.firstListedAt ?? origin.listedAt;
  }

  covers(kind: EntryKind, reference: string): boolean {
    const list = kind === "secret" ? this.secretList : this.fileList;
    return list !== undefined && wasSearchedFor(list, reference);
  }

  matching(kind: EntryKind, pattern: string): ReadonlySet<string> {
    const list = kind === "secret" ? this.secretList : this.fileList;
    return list?.found.get(pattern) ?? new Set();
  }

  near(kind: EntryKind, name: string): string | undefined {
    return (kind === "secret" ? this.secretList : this.fileList)?.near.get(name);
  }

  progress(kind: EntryKind): ListProgress | undefined {
    return kind === "file" && !this.fileList ? undefined : this.#progress[kind];
  }

  missingSince(name: string, owner: string | undefined): number {
    return this.absences.get(absenceKey(name, owner))?.since ?? this.firstListedAt;
  }

  lastListed(name: string, owner: string | undefined): SecretRecord | undefined {
    return this.absences.get(absenceKey(name, owner))?.last;
  }

  secrets(name: string): readonly SecretRecord[] {
    return this.secretList.records.get(name) ?? [];
  }

  get secretCount(): number {
    return this.secretList.count;
  }

  file(filename: string): FileRecord | undefined {
    return this.fileList?.records.get(filename)?.[0];
  }

  get fileCount(): number | undefined {
    return this.fileList?.count;
  }
}

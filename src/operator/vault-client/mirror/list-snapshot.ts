import type { FileRecord, SecretRecord, Snapshot } from "../connection.ts";

export type SecretsByName = ReadonlyMap<string, readonly SecretRecord[]>;
export type FilesByName = ReadonlyMap<string, FileRecord>;

/** Groups records by name; those of one name are sorted by owner. */
export function byName(records: readonly SecretRecord[]): SecretsByName {
  const names = new Map<string, SecretRecord[]>();
  for (const record of records) {
    const same = names.get(record.name);
    if (same) same.push(record);
    else names.set(record.name, [record]);
  }
  for (const same of names.values()) same.sort((a, b) => compare(a.owner ?? "", b.owner ?? ""));
  return names;
}

export function byFilename(records: readonly FileRecord[]): FilesByName {
  return new Map(records.map((record) => [record.filename, record]));
}

/** The number of a list in its connection and the time of its arrival. */
export interface ListOrigin {
  readonly sequence: number;
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
}

/** Maximum number of absences that are kept. A forgotten one counts as older than it is, so that nothing is deleted for it. */
const MAX_ABSENCES = 10_000;

/** A secret that is no longer listed: by name, and by name and owner. */
interface Absence {
  readonly name: string;
  readonly owner: string | undefined;
  /** Arrival time of the first list without it. */
  readonly since: number;
}

const absenceKey = (name: string, owner: string | undefined): string => JSON.stringify([name, owner?.toLowerCase()]);

const isListed = (secrets: SecretsByName, name: string, owner: string | undefined): boolean =>
  (secrets.get(name) ?? []).some((record) => owner === undefined || record.owner?.toLowerCase() === owner.toLowerCase());

/** Returns the absences of the previous list without those that have ended, and the ones that begin with this list. */
function absencesAfter(before: ListSnapshot, secrets: SecretsByName, since: number): ReadonlyMap<string, Absence> {
  if (before.secretsByName === secrets) return before.absences;
  const absences = new Map([...before.absences].filter(([, { name, owner }]) => !isListed(secrets, name, owner)));
  for (const [name, records] of before.secretsByName) {
    for (const owner of [undefined, ...records.flatMap((record) => record.owner ?? [])]) {
      if (!isListed(secrets, name, owner)) absences.set(absenceKey(name, owner), { name, owner, since });
    }
  }
  for (const oldest of [...absences.keys()].slice(0, Math.max(0, absences.size - MAX_ABSENCES))) absences.delete(oldest);
  return absences;
}

/** A snapshot with the indexes from which `changeBetween` computes differences. */
export class ListSnapshot implements Snapshot {
  readonly sequence: number;
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  readonly secretsByName: SecretsByName;
  readonly filesByName: FilesByName | undefined;
  readonly absences: ReadonlyMap<string, Absence>;
  /** Arrival time of the first list of the connection. */
  readonly firstListedAt: number;

  /** @param before the previous list of the same connection */
  constructor(origin: ListOrigin, secrets: SecretsByName, files: FilesByName | undefined, before?: ListSnapshot) {
    this.sequence = origin.sequence;
    this.listedAt = origin.listedAt;
    this.listedAtMonotonic = origin.listedAtMonotonic;
    this.secretsByName = secrets;
    this.filesByName = files;
    this.absences = before ? absencesAfter(before, secrets, origin.listedAt) : new Map<string, Absence>();
    this.firstListedAt = before?.firstListedAt ?? origin.listedAt;
  }

  missingSince(name: string, owner: string | undefined): number {
    return this.absences.get(absenceKey(name, owner))?.since ?? this.firstListedAt;
  }

  secrets(name: string): readonly SecretRecord[] {
    return this.secretsByName.get(name) ?? [];
  }

  get secretCount(): number {
    let count = 0;
    for (const records of this.secretsByName.values()) count += records.length;
    return count;
  }

  file(filename: string): FileRecord | undefined {
    return this.filesByName?.get(filename);
  }

  get fileCount(): number | undefined {
    return this.filesByName?.size;
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

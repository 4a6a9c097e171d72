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

/** A snapshot with the indexes from which `changeBetween` computes differences. */
export class ListSnapshot implements Snapshot {
  readonly sequence: number;
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  readonly secretsByName: SecretsByName;
  readonly filesByName: FilesByName | undefined;

  constructor(origin: ListOrigin, secrets: SecretsByName, files: FilesByName | undefined) {
    this.sequence = origin.sequence;
    this.listedAt = origin.listedAt;
    this.listedAtMonotonic = origin.listedAtMonotonic;
    this.secretsByName = secrets;
    this.filesByName = files;
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

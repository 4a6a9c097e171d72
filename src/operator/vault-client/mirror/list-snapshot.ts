import type { FileRecord, SecretRecord, Snapshot } from "../connection.ts";

export type SecretsByName = ReadonlyMap<string, readonly SecretRecord[]>;
export type FilesByName = ReadonlyMap<string, FileRecord>;

/** Records under their name, several of one name in the order of their owners. */
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

export interface ListMoment {
  readonly sequence: number;
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
}

export class ListSnapshot implements Snapshot {
  readonly sequence: number;
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  readonly secretsByName: SecretsByName;
  readonly filesByName: FilesByName | undefined;

  constructor(moment: ListMoment, secrets: SecretsByName, files: FilesByName | undefined) {
    this.sequence = moment.sequence;
    this.listedAt = moment.listedAt;
    this.listedAtMonotonic = moment.listedAtMonotonic;
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

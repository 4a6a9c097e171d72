import { nearNames } from "../../../lib/near-names.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { FileRecord, SecretRecord } from "../connection.ts";
import { parseJson } from "../http/parse-json.ts";
import { readFiles } from "../readers/read-files.ts";
import { isPattern, matchesPattern, patternsIn } from "../pattern.ts";
import { readSecrets } from "../readers/read-secrets.ts";
import type { TrackedList } from "./list-snapshot.ts";

/** A list as read from a response. */
export interface ReadList<T> extends TrackedList<T> {
  /** The list is empty, and not under the name that the contract gives it: a gateway's response may look the same. */
  readonly doubtful: boolean;
}

/** The records of each list operation. */
export interface EntryOf {
  readonly list_no_dup: SecretRecord;
  readonly list_file: FileRecord;
}

export type ListKind = keyof EntryOf;

/** Body of a response, and the names and patterns whose records are kept. */
export interface ListSource {
  readonly body: Uint8Array;
  readonly tracked: ReadonlySet<string>;
}

const readers: { readonly [K in ListKind]: (root: unknown) => readonly EntryOf[K][] } = {
  list_no_dup: readSecrets,
  list_file: readFiles,
};
const names: Readonly<Record<ListKind, string>> = { list_no_dup: "secrets", list_file: "files" };

const nameOf = (record: SecretRecord | FileRecord): string => ("filename" in record ? record.filename : record.name);
const ownerOf = (record: SecretRecord | FileRecord): string => ("owner" in record ? (record.owner ?? "") : "");

const NONE: ReadonlyMap<string, string> = new Map();

/** Returns the records of tracked names, and of names that match a tracked pattern. */
export function trackRecords<T extends SecretRecord | FileRecord>(
  all: readonly T[],
  tracked: ReadonlySet<string>,
): TrackedList<T> {
  const found = new Map(patternsIn(tracked).map((pattern) => [pattern, new Set<string>()]));
  const kept = all.filter((record) => {
    const name = nameOf(record);
    let isFound = false;
    for (const [pattern, matching] of found) {
      if (!matchesPattern(pattern, name)) continue;
      matching.add(name);
      isFound = true;
    }
    return isFound || tracked.has(name);
  });
  const records = byName(kept);
  const missing = [...tracked].filter((name) => !isPattern(name) && !records.has(name));
  const near = missing.length === 0 ? NONE : nearNames(missing, all.map(nameOf));
  return { records, tracked, found, near, count: all.length };
}

/** Parses a whole list and keeps the records of tracked names. @throws UnexpectedResponse */
export function readList<K extends ListKind>(kind: K, { body, tracked }: ListSource): ReadList<EntryOf[K]> {
  const root = parseJson(body);
  const all = readers[kind](root);
  const doubtful = all.length === 0 && !(isObject(root) && Object.hasOwn(root, names[kind]));
  return { ...trackRecords(all, tracked), doubtful };
}

/** Groups records by name; those of one name are sorted by owner. */
function byName<T extends SecretRecord | FileRecord>(records: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const record of records) {
    const same = groups.get(nameOf(record));
    if (same) same.push(record);
    else groups.set(nameOf(record), [record]);
  }
  for (const same of groups.values()) same.sort((a, b) => compare(ownerOf(a), ownerOf(b)));
  return groups;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

import { nearNames } from "../../lib/near-names.ts";
import type { FileRecord, SecretRecord } from "../connection.ts";
import { parseJson } from "../http/parse-json.ts";
import { readFiles, readSecrets } from "../readers/read-lists.ts";
import { isPattern, matchesPattern, patternsIn } from "../pattern.ts";
import { TooManyValuesError } from "../../../lib/strict-json.ts";
import { ListTooLongError } from "../vault-error.ts";
import type { TrackedList } from "./list-snapshot.ts";

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
  /**
   * Longest body that is read. It also limits what a body may have: a parsed value takes more
   * memory than its text.
   */
  readonly maxBytes: number;
}

/**
 * Least bytes of a list for each member, element, array or object in it, and for each entry. A
 * vault's list has more.
 */
const BYTES_PER_VALUE = 8;
const BYTES_PER_ENTRY = 80;

const readers: { readonly [K in ListKind]: (root: unknown) => readonly EntryOf[K][] } = {
  list_no_dup: readSecrets,
  list_file: readFiles,
};

const nameOf = (record: SecretRecord | FileRecord): string =>
  "filename" in record ? record.filename : record.name;
const ownerOf = (record: SecretRecord | FileRecord): string =>
  "owner" in record ? (record.owner ?? "") : "";

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

/**
 * Parses a whole list and keeps the records of tracked names. @throws UnexpectedResponse,
 * ListTooLongError
 */
export function readList<K extends ListKind>(
  kind: K,
  { body, tracked, maxBytes }: ListSource,
): TrackedList<EntryOf[K]> {
  const maxEntries = Math.floor(maxBytes / BYTES_PER_ENTRY);
  const entries = readers[kind](parsed(kind, body, Math.floor(maxBytes / BYTES_PER_VALUE)));
  if (entries.length > maxEntries)
    throw new ListTooLongError(kind, `more than ${maxEntries} entries (--max-list-bytes / 80)`);
  return trackRecords(entries, tracked);
}

function parsed(kind: ListKind, body: Uint8Array, maxValues: number): unknown {
  try {
    return parseJson(body, maxValues);
  } catch (error) {
    if (!(error instanceof TooManyValuesError)) throw error;
    throw new ListTooLongError(kind, `more than ${maxValues} values (--max-list-bytes / 8)`);
  }
}

/** Groups records by name, and sorts the records of one name by owner. */
function byName<T extends SecretRecord | FileRecord>(
  records: readonly T[],
): ReadonlyMap<string, readonly T[]> {
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

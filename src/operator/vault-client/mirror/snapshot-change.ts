import type { FileRecord, SecretRecord, SnapshotChange } from "../connection.ts";
import type { ListSnapshot } from "./list-snapshot.ts";
import { isObject } from "../../../lib/is-object.ts";

const none: ReadonlyMap<string, never> = new Map<string, never>();

/** Returns the names that were added, removed or changed; all names if there was no list before. */
export function changeBetween(before: ListSnapshot | undefined, after: ListSnapshot): SnapshotChange {
  return {
    secrets: differing(before?.secretsByName ?? none, after.secretsByName),
    // Files that are no longer listed did not change.
    files: after.filesByName ? differing(before?.filesByName ?? none, after.filesByName) : new Set(),
  };
}

function differing<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): ReadonlySet<string> {
  const names = new Set<string>();
  // The vault responded with 304, so the parsed list is the same object.
  if (before === after) return names;
  for (const [name, value] of after) if (!before.has(name) || !same(before.get(name), value)) names.add(name);
  for (const name of before.keys()) if (!after.has(name)) names.add(name);
  return names;
}

/** Compares two JSON values by content, regardless of the order of fields. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, at) => same(each, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/**
 * Returns those of the changed names whose version numbers may now refer to other bytes: removed, back at a lower version, or the
 * same version with another creation time. A recreated name starts again at version 1 (docs/design/vault-contract.md#versions).
 */
export function recreatedNames(before: ListSnapshot, after: ListSnapshot, change: SnapshotChange): SnapshotChange {
  const secrets = [...change.secrets].filter((name) => before.secrets(name).some((old) => !continues(old, after.secrets(name))));
  const files = [...change.files].filter((name) => {
    const [old, now] = [before.file(name), after.file(name)];
    return old && !(now && fileContinues(old, now));
  });
  return { secrets: new Set(secrets), files: new Set(files) };
}

function continues(old: SecretRecord, records: readonly SecretRecord[]): boolean {
  const now = records.find((record) => record.owner === old.owner);
  return now !== undefined && (now.version > old.version || (now.version === old.version && now.createdAt === old.createdAt));
}

function fileContinues(old: FileRecord, now: FileRecord): boolean {
  return now.version > old.version || (now.version === old.version && now.size === old.size && now.sha256 === old.sha256);
}

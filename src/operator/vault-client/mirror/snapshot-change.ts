import type { FileRecord, SecretRecord, SnapshotChange } from "../connection.ts";
import type { ListSnapshot, TrackedList } from "./list-snapshot.ts";
import { isObject } from "../../../lib/is-object.ts";

/**
 * Returns the referenced names that were added, removed or changed, those that are missing and have
 * another near name, and those that the list before does not cover: whether they exist was not
 * known.
 */
export function changeBetween(
  before: ListSnapshot | undefined,
  after: ListSnapshot,
): SnapshotChange {
  return {
    secrets: differing(before?.secretList, after.secretList),
    files: after.fileList ? differing(before?.fileList, after.fileList) : new Set(),
  };
}

function differing<T>(
  before: TrackedList<T> | undefined,
  after: TrackedList<T>,
): ReadonlySet<string> {
  // The vault responded with 304, so the parsed list is the same object.
  if (before === after) return new Set();
  if (!before) return new Set([...after.tracked, ...after.records.keys()]);
  const differs = (name: string): boolean =>
    !same(before.records.get(name), after.records.get(name)) ||
    before.near.get(name) !== after.near.get(name);
  const names = new Set<string>();
  for (const reference of after.tracked) {
    if (!before.tracked.has(reference) || differs(reference)) names.add(reference);
  }
  for (const [pattern, found] of after.found) {
    for (const name of [...found, ...(before.found.get(pattern) ?? [])]) {
      if (differs(name)) names.add(name).add(pattern);
    }
  }
  return names;
}

/** Compares two JSON values by content, regardless of the order of fields. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, at) => same(each, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}

/**
 * Returns the changed names whose version numbers may now refer to other bytes: removed, back at a
 * lower version, the same version with another creation time, or not covered by the list before. A
 * recreated name starts again at version 1 (docs/design/vault-contract.md#versions).
 */
export function recreatedNames(
  before: ListSnapshot | undefined,
  after: ListSnapshot,
  change: SnapshotChange,
): SnapshotChange {
  if (before === undefined) return { secrets: new Set(), files: new Set() };
  const secrets = [...change.secrets].filter(
    (name) =>
      !before.covers("secret", name) ||
      before.secrets(name).some((old) => !continues(old, after.secrets(name))),
  );
  const files = [...change.files].filter((name) => {
    if (!before.covers("file", name)) return true;
    const [old, now] = [before.file(name), after.file(name)];
    return old && !(now && fileContinues(old, now));
  });
  return { secrets: new Set(secrets), files: new Set(files) };
}

function continues(old: SecretRecord, records: readonly SecretRecord[]): boolean {
  const now = records.find((record) => record.owner === old.owner);
  return (
    now !== undefined &&
    (now.version > old.version || (now.version === old.version && now.createdAt === old.createdAt))
  );
}

function fileContinues(old: FileRecord, now: FileRecord): boolean {
  return (
    now.version > old.version ||
    (now.version === old.version && now.size === old.size && now.sha256 === old.sha256)
  );
}

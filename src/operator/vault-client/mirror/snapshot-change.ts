import type { FileRecord, SecretRecord, SnapshotChange } from "../connection.ts";
import type { ListSnapshot } from "./list-snapshot.ts";
import { isObject } from "../../../lib/is-object.ts";

const none: ReadonlyMap<string, never> = new Map<string, never>();

/** Names that are new, gone, or say anything else than before; all of them when there was no list before. */
export function changeBetween(before: ListSnapshot | undefined, after: ListSnapshot): SnapshotChange {
  return {
    secrets: differing(before?.secretsByName ?? none, after.secretsByName),
    // While files are not listed nothing is known about them, which is no change of theirs.
    files: after.filesByName ? differing(before?.filesByName ?? none, after.filesByName) : new Set(),
  };
}

function differing<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): ReadonlySet<string> {
  const names = new Set<string>();
  // The same parsed list, kept because the vault said that it is unchanged.
  if (before === after) return names;
  for (const [name, value] of after) if (!before.has(name) || !same(before.get(name), value)) names.add(name);
  for (const name of before.keys()) if (!after.has(name)) names.add(name);
  return names;
}

/** Equal as JSON: by content, whatever the order of an object's fields. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, at) => same(each, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

/**
 * Of the changed names those whose versions may now be about other bytes than before: gone, back to a lower version, or the same
 * version made at another time. A name made anew starts again at version 1 (the vault contract, "Fine print").
 */
export function madeAnew(before: ListSnapshot, after: ListSnapshot, change: SnapshotChange): SnapshotChange {
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

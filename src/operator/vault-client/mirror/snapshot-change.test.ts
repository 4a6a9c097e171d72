import { expect, test } from "vitest";
import type { FileRecord, SecretRecord } from "../connection.ts";
import { type ListOrigin, ListSnapshot, type TrackedList } from "./list-snapshot.ts";
import { trackRecords } from "./read-list.ts";
import { changeBetween, recreatedNames } from "./snapshot-change.ts";

function secret(more: Partial<SecretRecord> = {}): SecretRecord {
  const rest = { owner: "ann", shared: false, expiresAt: 5, deleteAt: 9, createdAt: 1 };
  return {
    name: "a",
    version: 3,
    metadata: { description: "d", custom: { x: [1, null] } },
    ...rest,
    ...more,
  };
}

function file(more: Partial<FileRecord> = {}): FileRecord {
  return { filename: "f", version: 3, size: 5, sha256: undefined, versions: [], ...more };
}

/** Returns the origin of a list that arrived at this time. */
function originAt(at: number): ListOrigin {
  const progress = { lists: at + 1, at, previousAt: -Infinity };
  return { listedAt: at, listedAtMonotonic: at, progress: { secret: progress, file: progress } };
}

/** Returns a list that covers these names. */
function list<T extends SecretRecord | FileRecord>(
  records: readonly T[],
  ...tracked: string[]
): TrackedList<T> {
  return trackRecords(records, new Set(tracked));
}

const secretNames = ["a", "b"];
const fileNames = ["f", "removed", "grown", "swapped", "added"];

function snapshot(secrets: SecretRecord[], files?: FileRecord[]): ListSnapshot {
  const origin = originAt(0);
  return new ListSnapshot(
    origin,
    list(secrets, ...secretNames),
    files && list(files, ...fileNames),
  );
}

/** Returns the names of secrets that differ, and which of them were recreated. */
function compare(before: SecretRecord[], after: SecretRecord[]): [string[], string[]] {
  const [old, now] = [snapshot(before), snapshot(after)];
  const change = changeBetween(old, now);
  return [[...change.secrets], [...recreatedNames(old, now, change).secrets]];
}

/** Returns a snapshot of secrets with these names, and with another name that it covers. */
function covering(...names: string[]): ListSnapshot {
  const records = names.map((name) => secret({ name }));
  return new ListSnapshot(originAt(0), list(records, "shop-bd"), undefined);
}

test("a missing name whose near name changed differs, and is not recreated", () => {
  const [none, near] = [covering("other"), covering("other", "shop-db")];
  expect(none.near("secret", "shop-bd")).toBeUndefined();
  expect(near.near("secret", "shop-bd")).toBe("shop-db");
  const change = changeBetween(none, near);
  expect(change.secrets).toEqual(new Set(["shop-bd"]));
  expect(recreatedNames(none, near, change).secrets).toEqual(new Set());
  expect(changeBetween(near, covering("shop-db", "more")).secrets).toEqual(new Set());
});

test("the first list differs in all referenced names, listed or not", () => {
  const change = changeBetween(undefined, snapshot([secret()], [file()]));
  expect(change).toEqual({ secrets: new Set(secretNames), files: new Set(fileNames) });
});

test("a name that the list before does not cover differs, listed or not, and is read again", () => {
  const origin = originAt(0);
  const before = new ListSnapshot(origin, list([secret()], "a"), list([file()], "f"));
  const after = new ListSnapshot(
    origin,
    list([secret(), secret({ name: "b" })], "a", "b", "c"),
    list([file()], "f", "g"),
    before,
  );
  const change = changeBetween(before, after);
  expect(change).toEqual({ secrets: new Set(["b", "c"]), files: new Set(["g"]) });
  expect(recreatedNames(before, after, change)).toEqual(change);
  expect(before.covers("secret", "b")).toBe(false);
  expect(after.covers("secret", "c")).toBe(true);
  expect(after.covers("secret", "d")).toBe(false);
  expect(before.covers("file", "g")).toBe(false);
  expect(after.covers("file", "g")).toBe(true);
  expect(snapshot([]).covers("file", "f")).toBe(false);
});

test("a name that is no longer referenced does not differ and is not missing", () => {
  const origin = originAt(5);
  const before = snapshot([secret(), secret({ name: "b" })]);
  const after = new ListSnapshot(origin, list([secret()], "a"), undefined, before);
  expect(changeBetween(before, after)).toEqual({ secrets: new Set(), files: new Set() });
  expect(after.missingSince("b", undefined)).toBe(0);
});

test("the same content in another order is not a change", () => {
  const other = secret({ owner: "bob", metadata: { custom: { x: [1, null] }, description: "d" } });
  const reordered = { ...secret(), owner: "bob" };
  expect(compare([secret(), other], [reordered, secret()])).toEqual([[], []]);
});

test.each<[Partial<SecretRecord>, boolean]>([
  [{ version: 4 }, false],
  [{ version: 4, createdAt: 7 }, false],
  [{ version: 2 }, true],
  [{ createdAt: 2 }, true],
  [{ owner: "bob" }, true],
  [{ shared: true }, false],
  [{ expiresAt: 6 }, false],
  [{ deleteAt: undefined }, false],
  [{ metadata: {} }, false],
  [{ metadata: { description: "d", custom: { x: [1, 2] } } }, false],
  [{ metadata: { description: "d", custom: { x: [1] } } }, false],
  [{ metadata: { description: "d", other: { x: [1, null] } } }, false],
])("%j is a change, of a recreated name: %j", (more, recreated) => {
  expect(compare([secret()], [secret(more)])).toEqual([["a"], recreated ? ["a"] : []]);
});

test("another owner of a name is a change, and one fewer means it was recreated", () => {
  const two = [secret(), secret({ owner: "bob" })];
  expect(compare([secret()], two)).toEqual([["a"], []]);
  expect(compare(two, [secret()])).toEqual([["a"], ["a"]]);
});

test("added, removed and changed files differ; files that are not listed do not", () => {
  const old = snapshot(
    [],
    [
      file(),
      file({ filename: "removed" }),
      file({ filename: "grown" }),
      file({ filename: "swapped" }),
    ],
  );
  const now = snapshot(
    [],
    [
      file(),
      file({ filename: "added" }),
      file({ filename: "grown", version: 4 }),
      file({ filename: "swapped", size: 6 }),
    ],
  );
  const change = changeBetween(old, now);
  expect([...change.files].sort()).toEqual(["added", "grown", "removed", "swapped"]);
  expect([...recreatedNames(old, now, change).files].sort()).toEqual(["removed", "swapped"]);
  expect(changeBetween(old, snapshot([])).files).toEqual(new Set());
});

test("a snapshot sorts records of one name by owner and counts each", () => {
  const both = snapshot([secret({ owner: "bob" }), secret(), secret({ owner: undefined })]);
  expect(both.secrets("a").map(({ owner }) => owner)).toEqual([undefined, "ann", "bob"]);
  expect(both.secretCount).toBe(3);
  expect(both.fileCount).toBeUndefined();
  expect(both.secrets("__proto__")).toEqual([]);
});

/** Returns the snapshots of lists of these secrets, one after the other. */
function successive(...lists: readonly (readonly SecretRecord[])[]): readonly ListSnapshot[] {
  const snapshots: ListSnapshot[] = [];
  for (const [at, records] of lists.entries()) {
    const secrets = list(records, ...secretNames);
    snapshots.push(new ListSnapshot(originAt(at), secrets, undefined, snapshots.at(-1)));
  }
  return snapshots;
}

test("missingSince returns the time of the first list without a name or an owner's secret", () => {
  const snapshots = successive(
    [secret(), secret({ owner: "bob" }), secret({ name: "b" })],
    [secret({ owner: "bob" }), secret({ name: "b" })],
    [secret({ name: "b" })],
    [secret(), secret({ name: "b" })],
    [],
  );
  const since = (at: number, name: string, owner?: string): number | undefined =>
    snapshots[at]?.missingSince(name, owner);
  expect(since(1, "a", "ANN")).toBe(1);
  expect(since(2, "a", "ann")).toBe(1);
  expect(since(2, "a", "bob")).toBe(2);
  expect(since(2, "a")).toBe(2);
  expect(since(4, "a", "ann")).toBe(4);
  expect(since(4, "a", "bob")).toBe(2);
  expect(since(4, "a")).toBe(4);
  expect(since(4, "b")).toBe(4);
  expect(since(4, "never")).toBe(0);
  expect(since(4, "b", "never")).toBe(0);
});

test("lastListed returns a secret that is gone as the last list with it had it", () => {
  const snapshots = successive(
    [secret({ deleteAt: 5 }), secret({ owner: "bob", deleteAt: 6 })],
    [secret({ deleteAt: 7 }), secret({ owner: "bob", deleteAt: 8 })],
    [],
    [secret({ deleteAt: 9 })],
    [],
  );
  const last = (at: number, owner?: string): number | undefined =>
    snapshots[at]?.lastListed("a", owner)?.deleteAt;
  expect(last(1, "ann")).toBeUndefined();
  expect(last(2, "ANN")).toBe(7);
  expect(last(2, "bob")).toBe(8);
  expect(last(2)).toBeUndefined(); // of two
  expect(last(3, "ann")).toBeUndefined();
  expect(last(4, "ann")).toBe(9);
  expect(last(4, "bob")).toBe(8);
});

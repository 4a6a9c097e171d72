import { expect, test } from "vitest";
import { ObjectStore, type Stored } from "./object-store.ts";

const state = (uid: string, resourceVersion: string): Stored<string> => ({
  uid,
  resourceVersion,
  value: `${uid}@${resourceVersion}`,
});

test("setting an object of the same version is not a change", () => {
  const store = new ObjectStore<string>();
  expect(store.set("a", state("u1", "1"))).toEqual([{ type: "added", key: "a", now: "u1@1" }]);
  expect(store.set("a", state("u1", "1"))).toEqual([]);
  expect(store.set("a", state("u1", "2"))).toEqual([
    { type: "updated", key: "a", before: "u1@1", now: "u1@2" },
  ]);
});

test("a new object under an old name is a deletion and an addition", () => {
  const store = new ObjectStore<string>();
  store.set("a", state("u1", "1"));
  expect(store.set("a", state("u2", "5"))).toEqual([
    { type: "deleted", key: "a", before: "u1@1" },
    { type: "added", key: "a", now: "u2@5" },
  ]);
});

test("a late deletion of an object does not remove another object of the same name", () => {
  const store = new ObjectStore<string>();
  store.set("a", state("u2", "5"));
  expect(store.delete("a", "u1")).toEqual([]);
  expect(store.get("a")).toBe("u2@5");
  expect(store.delete("a", "u2")).toEqual([{ type: "deleted", key: "a", before: "u2@5" }]);
  expect(store.size).toBe(0);
});

test("replaceAll returns exactly the differences", () => {
  const store = new ObjectStore<string>();
  store.set("gone", state("u1", "1"));
  store.set("same", state("u2", "2"));
  store.set("changed", state("u3", "3"));
  store.set("reborn", state("u4", "4"));
  const next = new Map([
    ["same", state("u2", "2")],
    ["changed", state("u3", "30")],
    ["reborn", state("u40", "40")],
    ["new", state("u5", "5")],
  ]);
  expect(store.replaceAll(next).map(({ type, key }) => `${type} ${key}`)).toEqual([
    "deleted gone",
    "updated changed",
    "deleted reborn",
    "added reborn",
    "added new",
  ]);
  expect(new Map(store.entries())).toEqual(
    new Map([...next].map(([key, { value }]) => [key, value])),
  );
});

test("the index has each object under its current names only", () => {
  const store = new ObjectStore<string>((_, value) => value.split("@"));
  store.set("a", state("u1", "1"));
  store.set("b", state("u1", "2"));
  expect([...store.indexed("u1")]).toEqual(["a", "b"]);
  expect([...store.indexed("1")]).toEqual(["a"]);
  expect([...store.indexed("other")]).toEqual([]);
  store.set("a", state("u1", "3"));
  expect([...store.indexed("1")]).toEqual([]);
  expect([...store.indexed("3")]).toEqual(["a"]);
  store.delete("a", "u1");
  expect([...store.indexed("u1")]).toEqual(["b"]);
  store.replaceAll(new Map([["c", state("u3", "5")]]));
  expect([...store.indexed("u1")]).toEqual([]);
  expect([...store.indexed("u3")]).toEqual(["c"]);
});

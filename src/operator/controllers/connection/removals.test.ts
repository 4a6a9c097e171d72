import { expect, test } from "vitest";
import type { EntryKind, Snapshot } from "../../vault-client/connection.ts";
import { Removals } from "./removals.ts";

const INTERVAL = 60_000;

/** The lists of a vault, one per interval unless `afterMs` says otherwise, and the names that disappear from them. */
function scene(references = 20) {
  const facts = { references: references, unreferenced: new Set<string>(), served: new Set<string>() };
  const listed: Record<EntryKind, Set<string>> = { secret: new Set(), file: new Set() };
  let lists = 0;
  let at = 0;
  const removals = new Removals(INTERVAL, {
    isNamed: () => true,
    isReferenced: (_, name) => !facts.unreferenced.has(name),
    get referenceCount() {
      return facts.references;
    },
    wasServed: (kind, name) => facts.served.has(`${kind} ${name}`),
  });
  const snapshot = (): Snapshot =>
    ({
      listedAtMonotonic: at,
      secrets: (name: string) => (listed.secret.has(name) ? [{}] : []),
      file: (name: string) => (listed.file.has(name) ? {} : undefined),
      progress: (kind: EntryKind) => (kind === "file" && listed.file.size === 0 ? undefined : { lists, at }),
    }) as unknown as Snapshot;
  /** The next list, `afterMs` later, shows and lacks these names. */
  const list = (
    shown: string[],
    lacking: string[],
    { afterMs = INTERVAL, kind = "secret" }: { afterMs?: number; kind?: EntryKind } = {},
  ): number => {
    lists += 1;
    at += afterMs;
    for (const name of shown) listed[kind].add(name);
    for (const name of lacking) listed[kind].delete(name);
    const changed = new Set([...shown, ...lacking]);
    const none = new Set<string>();
    removals.observe(snapshot(), kind === "secret" ? { secrets: changed, files: none } : { secrets: none, files: changed });
    return removals.held;
  };
  const untilProven = (name: string, kind: EntryKind = "secret"): number => removals.untilProven(snapshot(), kind, name);
  return { facts, removals, list, untilProven };
}

const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => `n${n + from}`);

test("a name counts as deleted after three lists without it over two intervals", () => {
  const { list, untilProven } = scene();
  list(["a"], []);
  expect(untilProven("a")).toBe(Infinity);
  list([], ["a"]);
  expect(untilProven("a")).toBe(2 * INTERVAL);
  list([], [], { afterMs: 1_000 });
  list([], [], { afterMs: 1_000 });
  expect(untilProven("a")).toBe(2 * INTERVAL - 2_000);
  list([], [], { afterMs: 2 * INTERVAL - 2_000 });
  expect(untilProven("a")).toBe(0);
});

test("two lists without a name are no proof, however far apart", () => {
  const { list, untilProven } = scene();
  list(["a"], []);
  list([], ["a"]);
  list([], [], { afterMs: 10 * INTERVAL });
  expect(untilProven("a")).toBe(INTERVAL);
  list([], []);
  expect(untilProven("a")).toBe(0);
});

test("a name that is listed again, or no longer referenced, is not proven deleted", () => {
  const { facts, removals, list, untilProven } = scene();
  list(["a", "b"], []);
  list([], ["a", "b"]);
  list(["a"], []);
  expect(untilProven("a")).toBe(Infinity);
  facts.unreferenced.add("b");
  removals.prune();
  expect(untilProven("b")).toBe(Infinity);
  list([], ["a"]);
  expect(untilProven("a")).toBe(2 * INTERVAL);
});

test("a file is not proven deleted while files are not listed", () => {
  const { list, untilProven } = scene();
  list(["f", "g"], [], { kind: "file" });
  list([], ["f"], { kind: "file" });
  expect([untilProven("f", "file"), untilProven("f")]).toEqual([2 * INTERVAL, Infinity]);
  list([], ["g"], { kind: "file" });
  expect(untilProven("f", "file")).toBe(Infinity);
});

test.each([
  [4, 5, 0],
  [5, 24, 5],
  [5, 25, 0],
  [6, 25, 6],
])("%d names that disappear of %d referenced ones: %d are held", (count, references, held) => {
  const { list } = scene(references);
  list(names(count), []);
  expect(list([], names(count))).toBe(held);
});

test("names that disappear within an interval are counted together, later ones are not", () => {
  const together = scene();
  together.list(names(6), []);
  expect(together.list([], names(3))).toBe(0);
  expect(together.list([], names(3, 3), { afterMs: INTERVAL - 1 })).toBe(6);
  const apart = scene();
  apart.list(names(6), []);
  apart.list([], names(3));
  expect(apart.list([], names(3, 3))).toBe(0);
});

test("secrets and files are counted together", () => {
  const { list } = scene();
  list(names(3), []);
  list(["kept", ...names(3)], [], { kind: "file" });
  list([], names(3), { kind: "file" });
  expect(list([], names(3), { afterMs: 1 })).toBe(6);
});

test("while removals are held, every further name is held too, until a user confirms", () => {
  const { removals, list } = scene();
  list(names(10), []);
  expect(list([], names(5))).toBe(5);
  expect(list([], ["n5"], { afterMs: 10 * INTERVAL })).toBe(6);
  expect(list(["n0"], [])).toBe(5);
  removals.confirm();
  expect(removals.held).toBe(0);
  expect(list([], ["n6"])).toBe(0);
});

test("a name that was never listed counts only if a resource has its bytes", () => {
  expect(scene().list([], names(5))).toBe(0);
  const served = scene();
  for (const name of names(5)) served.facts.served.add(`secret ${name}`);
  expect(served.list([], names(5))).toBe(5);
  expect(served.list([], names(5))).toBe(5);
});

test("names that no resource refers to any more are neither held nor counted", () => {
  const { facts, removals, list } = scene();
  list(names(10), []);
  list([], names(5));
  facts.unreferenced.add("n0");
  removals.prune();
  expect(removals.held).toBe(4);
  for (const name of names(5, 5)) facts.unreferenced.add(name);
  removals.prune();
  facts.unreferenced.clear();
  removals.confirm();
  expect(list([], names(5, 5))).toBe(0);
});

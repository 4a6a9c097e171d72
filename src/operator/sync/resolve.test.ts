import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/support/kube/sync-resource.ts";
import { type Candidate, type Remembered, resolveItem } from "./resolve.ts";
import type { SyncItem } from "./sync-resource.ts";
import { sourceId } from "./target.ts";

const NOW = Date.UTC(2026, 10, 21);
const nothing: Remembered = { synced: undefined, deleteAt: undefined };
const dba = { owner: "dba@example.com", own: false };
const dev = { owner: "dev@example.com", own: false };

function resolve(item: SyncItem, candidates: readonly Candidate[], remembered = nothing, accepted: string[] = []) {
  return resolveItem(syncResource([item], { accepted: new Set(accepted) }), item, candidates, remembered, NOW);
}

const synced = (version: number, owner: string | undefined = "ops@example.com", source = "db"): Remembered => ({
  synced: { version, source: sourceId(source, owner) },
  deleteAt: undefined,
});

describe("which entry is meant", () => {
  test("the only one of the name, whoever made it", () => {
    expect(resolve(syncItem("db"), [candidate(3, dba)])).toMatchObject({ state: "found", version: 3, candidate: dba });
  });

  test("not somebody else's that was shared after the one synced was gone, unless its owner is named", () => {
    const remembered = { ...synced(3), sameName: true };
    expect(resolve(syncItem("db"), [candidate(3, dba)], remembered).state).toBe("other-owner");
    expect(resolve(syncItem("db", { owner: dba.owner }), [candidate(3, dba)], remembered).state).toBe("found");
    // The spec named another entry before: this is what it asks for now.
    expect(resolve(syncItem("db"), [candidate(3, dba)], { ...remembered, sameName: false }).state).toBe("found");
    // The account's own entry takes its place again by itself.
    expect(resolve(syncItem("db"), [candidate(4)], { ...synced(3, dba.owner), sameName: true }).state).toBe("found");
  });

  test("one's own before any that others shared, wherever it stands in the list", () => {
    const candidates = [candidate(9, dba), candidate(2), candidate(8, dev)];
    expect(resolve(syncItem("db"), candidates)).toMatchObject({ state: "found", version: 2 });
  });

  test("several that others shared are ambiguous, and all of their owners are named", () => {
    const found = resolve(syncItem("db"), [candidate(1, dba), candidate(2, dev), candidate(3, { owner: undefined, own: false })]);
    expect(found).toMatchObject({ state: "ambiguous", owners: ["dba@example.com", "dev@example.com", "?"] });
  });

  test("the owner that the spec names decides, also against one's own; capital letters make no difference to the vault", () => {
    const candidates = [candidate(1), candidate(5, dba), candidate(6, dev)];
    expect(resolve(syncItem("db", { owner: "dba@example.com" }), candidates)).toMatchObject({ version: 5 });
    expect(resolve(syncItem("db", { owner: "DBA@Example.com" }), candidates)).toMatchObject({ version: 5 });
  });

  test("an owner that has no such entry means that it is missing, not another owner's", () => {
    expect(resolve(syncItem("db", { owner: "who@example.com" }), [candidate(1), candidate(5, dba)]).state).toBe("missing");
  });
});

describe("an entry that the list does not show", () => {
  test.each<[string, Remembered, string]>([
    ["never had a deadline", nothing, "missing"],
    ["has a deadline that is still to come", { synced: undefined, deleteAt: NOW + 1 }, "missing"],
    ["has a deadline that has come this moment", { synced: undefined, deleteAt: NOW }, "removed"],
    ["has a deadline that has passed", { synced: undefined, deleteAt: NOW - 86_400_000 }, "removed"],
  ])("%s", (_, remembered, state) => {
    const found = resolve(syncItem("db"), [], remembered);
    expect(found.state).toBe(state);
    expect(found).toMatchObject({ deleteAt: remembered.deleteAt });
  });

  test("an entry that is listed is there, whatever deadline is remembered of it", () => {
    expect(resolve(syncItem("db"), [candidate(4)], { synced: undefined, deleteAt: NOW - 1 }).state).toBe("found");
  });
});

describe("which version is meant", () => {
  test("a pinned one stays when there are newer ones", () => {
    expect(resolve(syncItem("db", { version: 2 }), [candidate(5)], synced(2))).toMatchObject({ state: "found", version: 2 });
  });

  test("a pinned one is served as asked, also below what the target holds", () => {
    expect(resolve(syncItem("db", { version: 2 }), [candidate(5)], synced(5))).toMatchObject({ state: "found", version: 2 });
  });

  test("a pinned one above the latest does not exist", () => {
    expect(resolve(syncItem("db", { version: 6 }), [candidate(5)])).toMatchObject({ state: "no-version", version: 6 });
  });

  test("where the list names the versions, one between them does not exist", () => {
    const file = candidate(5, { sizes: new Map([1, 2, 5].map((version) => [version, 10])) });
    expect(resolve(syncItem("db", { version: 2 }), [file]).state).toBe("found");
    expect(resolve(syncItem("db", { version: 3 }), [file]).state).toBe("no-version");
  });

  test("a latest below what the target holds of the same entry has gone back", () => {
    expect(resolve(syncItem("db"), [candidate(4)], synced(5))).toMatchObject({ state: "regressed", syncedVersion: 5 });
    expect(resolve(syncItem("db"), [candidate(5)], synced(5)).state).toBe("found");
  });

  test("going back is followed once that very version of that very source is accepted", () => {
    const item = syncItem("key", { source: "db" });
    expect(resolve(item, [candidate(4)], synced(5), ["db@4"])).toMatchObject({ state: "found", version: 4 });
    for (const other of ["db@3", "db@5", "key@4", "db", "", "DB@4"]) {
      expect(resolve(item, [candidate(4)], synced(5), [other]).state, other).toBe("regressed");
    }
  });

  test("a lower version of another entry is no going back: the spec asks for something else", () => {
    expect(resolve(syncItem("db"), [candidate(1)], synced(5, "dba@example.com")).state).toBe("found");
    expect(resolve(syncItem("db"), [candidate(1)], synced(5, "ops@example.com", "former")).state).toBe("found");
  });
});

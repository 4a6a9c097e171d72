import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource, VAULT } from "../../../test/lab/kube/sync-resource.ts";
import type { Gate, Candidate, Remembered, Resolution } from "./resolution.ts";
import { resolveItem } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId } from "./target.ts";

const NOW = Date.UTC(2026, 10, 21);
const OWNER = "ops@example.com";
const updates: Gate = { reason: "Frozen", opensInMs: 10, until: "until later" };
const find = { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [], digest: "rule" };
const item = syncItem("db");
const found = syncItem("db", { foundBy: find });
const optional = syncItem("db", { isOptional: true });
const stranger = { owner: "dba@example.com", own: false };

const bytes = (version: number, changes: Partial<SyncedKey> = {}): SyncedKey => ({
  version,
  source: sourceId(VAULT, "db", OWNER),
  ...changes,
});

/** Resolves an item of a frozen resource that has a target. */
function resolve(
  of: SyncItem,
  candidates: readonly Candidate[],
  known: Partial<Remembered>,
  changes: Partial<SyncResource> = {},
): Resolution {
  const nothing = { synced: undefined, deleteAt: undefined, missingSince: NOW };
  const remembered = { ...nothing, updates, hasTarget: true, sameName: true, ...known };
  return resolveItem(syncResource([of], changes), of, candidates, remembered, NOW);
}

describe("resolveItem for a frozen resource", () => {
  test("keeps the version in the target or, without a target, the one that it had last", () => {
    const kept = { state: "found", version: 3, gate: updates };
    expect(resolve(item, [candidate(5)], { synced: bytes(3) })).toMatchObject(kept);
    expect(resolve(item, [candidate(5)], { served: 3 })).toMatchObject(kept);
  });

  test("has nothing to wait for in the latest version", () => {
    const latest = resolve(item, [candidate(3)], { synced: bytes(3) });
    expect(latest).toEqual({ state: "found", item, candidate: candidate(3), version: 3 });
  });

  test("follows an accepted version, a pinned one and a lower accepted one", () => {
    const accepted = { accepted: new Set(["db@5", "db@2"]) };
    expect(resolve(item, [candidate(5)], { synced: bytes(3) }, accepted)).toMatchObject({
      version: 5,
    });
    expect(resolve(item, [candidate(2)], { synced: bytes(3) }, accepted)).toMatchObject({
      version: 2,
    });
    const pinned = syncItem("db", { version: 4 });
    expect(resolve(pinned, [candidate(5)], { synced: bytes(3) })).toMatchObject({ version: 4 });
  });

  test("keeps what a hold names before what the freeze keeps", () => {
    const hold = { versions: new Map([["db", 2]]), note: "" };
    expect(resolve(item, [candidate(5)], { synced: bytes(3) }, { hold })).toMatchObject({
      version: 2,
      gate: { reason: "Held" },
    });
  });

  test("has the first value of a key that the spec requires", () => {
    expect(resolve(item, [candidate(5)], {})).toMatchObject({ state: "found", version: 5 });
  });

  test.each([
    ["found", found],
    ["optional", optional],
  ])("withholds the first value of a key whose source is %s, unless all are new", (_, one) => {
    expect(resolve(one, [candidate(5)], {})).toMatchObject({ state: "withheld", hasBytes: false });
    expect(resolve(one, [candidate(5)], { hasTarget: false })).toMatchObject({ state: "found" });
    const earlier = resolve(one, [candidate(5)], { served: 4 });
    expect(earlier).toMatchObject({ state: "found", version: 4 });
  });

  test("keeps the served entry although an own one of its name is listed", () => {
    const synced = bytes(3, { source: sourceId(VAULT, "db", stranger.owner) });
    const both = [candidate(7), candidate(4, stranger)];
    expect(resolve(item, both, { synced })).toMatchObject({ state: "found", version: 3 });
    expect(resolve(item, both, { synced, updates: undefined })).toMatchObject({ version: 7 });
    expect(resolve(item, [candidate(7)], { synced })).toMatchObject({
      state: "withheld",
      hasBytes: true,
    });
  });

  test("drops the bytes of another entry when the absence of that is proven", () => {
    const synced = bytes(3, { source: sourceId(VAULT, "db", stranger.owner) });
    const gone = { synced, isGone: true, provenInMs: 0 };
    const dropped = resolve(item, [candidate(7)], gone, { whenMissing: "Delete" });
    expect(dropped).toMatchObject({ state: "missing", deletion: "due" });
    expect(resolve(item, [candidate(7)], gone)).toMatchObject({ state: "withheld" });
  });

  test("keeps the bytes of another vault, but not of another source that the spec named", () => {
    const synced = bytes(3, { source: sourceId("other", "db", OWNER) });
    const other = { synced, sameName: false, isOfOtherVault: true };
    expect(resolve(item, [candidate(7)], other)).toMatchObject({ state: "withheld" });
    // An owner of the other vault has no entry here.
    const gone = { ...other, isGone: true, provenInMs: 0 };
    expect(resolve(item, [candidate(7)], gone, { whenMissing: "Delete" })).toMatchObject({
      state: "withheld",
      hasBytes: true,
    });
    const former = { synced: bytes(3, { source: sourceId(VAULT, "x", OWNER) }), sameName: false };
    expect(resolve(item, [candidate(7)], former)).toMatchObject({ state: "found", version: 7 });
    expect(resolve(found, [candidate(7)], former)).toMatchObject({ state: "withheld" });
  });

  test("keeps the bytes of a recreated entry, whatever its version", () => {
    const createdAt = new Map([3, 4].map((version) => [version, NOW]));
    for (const latest of [3, 4]) {
      const recreated = candidate(latest, { createdAt });
      const resolution = resolve(item, [recreated], { synced: bytes(3, { createdAt: NOW - 1 }) });
      expect(resolution).toMatchObject({
        version: 3,
        isRecreated: true,
        candidate: { createdAt: undefined },
      });
      const same = resolve(item, [recreated], { synced: bytes(3, { createdAt: NOW }) });
      expect(same).not.toHaveProperty("isRecreated");
    }
  });
});

import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource, VAULT } from "../../../test/lab/kube/sync-resource.ts";
import { parseHold } from "./gate.ts";
import type { Candidate, Remembered } from "./resolution.ts";
import { resolveItem } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { sourceId } from "./target.ts";

const NOW = Date.UTC(2026, 10, 21);
const nothing: Remembered = { synced: undefined, deleteAt: undefined, missingSince: NOW };
const dba = { owner: "dba@example.com", own: false };
const dev = { owner: "dev@example.com", own: false };

function resolve(
  item: SyncItem,
  candidates: readonly Candidate[],
  remembered = nothing,
  accepted: string[] = [],
) {
  return resolveItem(
    syncResource([item], { accepted: new Set(accepted) }),
    item,
    candidates,
    remembered,
    NOW,
  );
}

const synced = (
  version: number,
  owner: string | undefined = "ops@example.com",
  source = "db",
): Remembered => ({
  synced: { version, source: sourceId(VAULT, source, owner) },
  deleteAt: undefined,
  missingSince: NOW,
});

describe("resolveItem selects", () => {
  test("the only entry of the name, with any owner", () => {
    expect(resolve(syncItem("db"), [candidate(3, dba)])).toMatchObject({
      state: "found",
      version: 3,
      candidate: dba,
    });
  });

  test("no entry of another owner after the synced one is gone, unless the spec names its owner", () => {
    const remembered = { ...synced(3), sameName: true };
    expect(resolve(syncItem("db"), [candidate(3, dba)], remembered).state).toBe("other-owner");
    expect(
      resolve(syncItem("db", { owner: dba.owner }), [candidate(3, dba)], remembered).state,
    ).toBe("found");
    // The spec referred to another entry before, and refers to this one now.
    expect(
      resolve(syncItem("db"), [candidate(3, dba)], { ...remembered, sameName: false }).state,
    ).toBe("found");
    // The account's own entry replaces it without consent.
    expect(
      resolve(syncItem("db"), [candidate(4)], { ...synced(3, dba.owner), sameName: true }).state,
    ).toBe("found");
  });

  test("an entry of another owner in another vault than the synced one", () => {
    const remembered = { ...synced(3), sameName: true };
    const elsewhere = candidate(1, { ...dba, vault: "another" });
    expect(resolve(syncItem("db"), [elsewhere], remembered)).toMatchObject({
      state: "found",
      version: 1,
    });
  });

  test("no entry of an untrusted owner, and ignores it next to a trusted one", () => {
    const stranger = candidate(9, { owner: "eve@example.com", own: false, untrusted: true });
    expect(resolve(syncItem("db"), [stranger])).toMatchObject({
      state: "untrusted",
      owner: "eve@example.com",
    });
    expect(resolve(syncItem("db", { owner: "eve@example.com" }), [stranger]).state).toBe(
      "untrusted",
    );
    expect(resolve(syncItem("db"), [stranger, candidate(3, dba)])).toMatchObject({
      state: "found",
      version: 3,
    });
    // It is listed, so it is not removed, whatever its deadline was.
    expect(
      resolve(syncItem("db"), [stranger], {
        ...synced(3),
        deleteAt: NOW - 2,
        missingSince: NOW - 1,
      }).state,
    ).toBe("untrusted");
  });

  test("the own entry before shared ones, whatever the order of the list", () => {
    const candidates = [candidate(9, dba), candidate(2), candidate(8, dev)];
    expect(resolve(syncItem("db"), candidates)).toMatchObject({ state: "found", version: 2 });
  });

  test("no entry if several owners share the name, and returns all owners", () => {
    const found = resolve(syncItem("db"), [
      candidate(1, dba),
      candidate(2, dev),
      candidate(3, { owner: undefined, own: false }),
    ]);
    expect(found).toMatchObject({
      state: "ambiguous",
      owners: ["dba@example.com", "dev@example.com", "?"],
    });
  });

  test("the entry of the owner in the spec, even over the own one, ignoring case", () => {
    const candidates = [candidate(1), candidate(5, dba), candidate(6, dev)];
    expect(resolve(syncItem("db", { owner: "dba@example.com" }), candidates)).toMatchObject({
      version: 5,
    });
    expect(resolve(syncItem("db", { owner: "DBA@Example.com" }), candidates)).toMatchObject({
      version: 5,
    });
  });

  test("no entry of another owner if the owner in the spec has none", () => {
    expect(
      resolve(syncItem("db", { owner: "who@example.com" }), [candidate(1), candidate(5, dba)])
        .state,
    ).toBe("missing");
  });
});

describe("resolveItem for a name that several owners share", () => {
  test("continues with the owner whose version was served", () => {
    const both = [candidate(5, dev), candidate(3, dba)];
    expect(
      resolve(syncItem("db"), both, { ...synced(3, dba.owner), sameName: true }),
    ).toMatchObject({
      candidate: dba,
      version: 3,
    });
    const absent = { ...nothing, served: 3, servedOwner: "DBA@example.com" };
    expect(resolve(syncItem("db"), both, absent)).toMatchObject({ candidate: dba, version: 3 });
    expect(resolve(syncItem("db"), both).state).toBe("ambiguous");
  });

  test("takes no other owner without a target, unless the spec names it or it is the account", () => {
    const absent = { ...nothing, served: 3, servedOwner: dba.owner };
    expect(resolve(syncItem("db"), [candidate(3, dev)], absent).state).toBe("other-owner");
    expect(resolve(syncItem("db", { owner: dev.owner }), [candidate(3, dev)], absent).state).toBe(
      "found",
    );
    expect(resolve(syncItem("db"), [candidate(3)], absent).state).toBe("found");
  });

  // A spec that changed from the secret of another owner to the own one waited for a version that
  // this one never had.
  test("does not compare the version of one owner with that of another", () => {
    const absent = { ...nothing, served: 7, servedOwner: dba.owner };
    expect(resolve(syncItem("db"), [candidate(3)], absent)).toMatchObject({
      state: "found",
      version: 3,
    });
    expect(resolve(syncItem("db"), [candidate(3, dba)], absent).state).toBe("regressed");
  });
});

describe("resolveItem for a resource with a refreshInterval", () => {
  test("keeps the synced version until the interval is over", () => {
    expect(
      resolve(syncItem("db"), [candidate(5)], { ...synced(3), refreshInMs: 10 }),
    ).toMatchObject({
      version: 3,
      gate: { reason: "RefreshInterval", opensInMs: 10 },
    });
    const over = resolve(syncItem("db"), [candidate(5)], { ...synced(3), refreshInMs: 0 });
    expect(over.state === "found" && over.version).toBe(5);
    expect("gate" in over).toBe(false);
  });

  test("has nothing to wait for in the synced version, or in an accepted lower one", () => {
    const item = syncItem("db");
    const waiting = { ...synced(3), refreshInMs: 10 };
    const followed = { state: "found", item, candidate: candidate(3), version: 3 };
    expect(resolve(item, [candidate(3)], waiting)).toEqual(followed);
    expect(resolve(item, [candidate(2)], waiting, ["db@2"])).toEqual({
      ...followed,
      candidate: candidate(2),
      version: 2,
    });
  });

  test("does not delay a removal, a pinned version, another source or a new target", () => {
    const waiting = { refreshInMs: 10 };
    expect(resolve(syncItem("db"), [], { ...nothing, ...waiting, deleteAt: NOW }).state).toBe(
      "removed",
    );
    expect(
      resolve(syncItem("db", { version: 4 }), [candidate(5)], { ...synced(3), ...waiting }),
    ).toMatchObject({ version: 4 });
    expect(resolve(syncItem("new"), [candidate(5)], { ...synced(3), ...waiting })).toMatchObject({
      version: 5,
    });
    expect(resolve(syncItem("db"), [candidate(5)], { ...nothing, ...waiting })).toMatchObject({
      version: 5,
    });
  });
});

describe("resolveItem for an entry that is not listed", () => {
  test.each<[string, Remembered, string]>([
    ["returns missing without a deadline", nothing, "missing"],
    ["returns missing before its deadline", { ...nothing, deleteAt: NOW + 5_001 }, "missing"],
    ["returns removed by a clock that is behind", { ...nothing, deleteAt: NOW + 5_000 }, "removed"],
    ["returns removed at its deadline", { ...nothing, deleteAt: NOW }, "removed"],
    ["returns removed after its deadline", { ...nothing, deleteAt: NOW - 86_400_000 }, "removed"],
    [
      "returns missing if a list before its deadline lacked it",
      { ...nothing, deleteAt: NOW, missingSince: NOW - 5_001 },
      "missing",
    ],
    [
      "returns missing if its deadline lies after now",
      { ...nothing, deleteAt: NOW + 5_001, missingSince: NOW + 6_000 },
      "missing",
    ],
  ])("%s", (_, remembered, state) => {
    const found = resolve(syncItem("db"), [], remembered);
    expect(found).toMatchObject(
      state === "removed" ? { state, deleteAt: remembered.deleteAt } : { state },
    );
  });

  const removed = { ...nothing, deleteAt: NOW };
  const proven = { ...nothing, provenInMs: 0 };
  test.each<[string, Partial<SyncResource>, Remembered, string | undefined]>([
    ["is due at the deadline", {}, removed, "due"],
    ["is held at the deadline", {}, { ...removed, held: true }, "held"],
    [
      "is not wanted at the deadline",
      { whenRemoved: "Retain" },
      { ...removed, held: true },
      undefined,
    ],
    ["is not wanted if missing", {}, proven, undefined],
    ["is due if missing for long enough", { whenMissing: "Delete" }, proven, "due"],
    ["is awaited if missing", { whenMissing: "Delete" }, { ...nothing, provenInMs: 1 }, "awaited"],
    [
      "is awaited if nothing is known about the name",
      { whenMissing: "Delete" },
      nothing,
      "awaited",
    ],
    ["is held if missing", { whenMissing: "Delete" }, { ...proven, held: true }, "held"],
  ])("the deletion %s", (_, policies, remembered, deletion) => {
    const item = syncItem("db");
    const resolution = resolveItem(syncResource([item], policies), item, [], remembered, NOW);
    expect(resolution.state).toBe(remembered.deleteAt === undefined ? "missing" : "removed");
    expect("deletion" in resolution ? resolution.deletion : undefined).toBe(deletion);
  });

  test("ignores a remembered deadline if the entry is listed", () => {
    expect(resolve(syncItem("db"), [candidate(4)], { ...nothing, deleteAt: NOW - 1 }).state).toBe(
      "found",
    );
  });
});

describe("resolveItem for a version", () => {
  test("keeps a pinned version when there are newer ones", () => {
    expect(resolve(syncItem("db", { version: 2 }), [candidate(5)], synced(2))).toMatchObject({
      state: "found",
      version: 2,
    });
  });

  test("accepts a pinned version below the synced one", () => {
    expect(resolve(syncItem("db", { version: 2 }), [candidate(5)], synced(5))).toMatchObject({
      state: "found",
      version: 2,
    });
  });

  test("returns no-version for a pinned version above the latest", () => {
    expect(resolve(syncItem("db", { version: 6 }), [candidate(5)])).toMatchObject({
      state: "no-version",
      version: 6,
    });
  });

  test("returns no-version for a pinned version that is not listed", () => {
    const file = candidate(5, { sizes: new Map([1, 2, 5].map((version) => [version, 10])) });
    expect(resolve(syncItem("db", { version: 2 }), [file]).state).toBe("found");
    expect(resolve(syncItem("db", { version: 3 }), [file]).state).toBe("no-version");
  });

  test("returns regressed if the latest version is below the synced one", () => {
    expect(resolve(syncItem("db"), [candidate(4)], synced(5))).toMatchObject({
      state: "regressed",
      syncedVersion: 5,
    });
    expect(resolve(syncItem("db"), [candidate(5)], synced(5)).state).toBe("found");
  });

  test("follows a regressed version once exactly that version of that source is accepted", () => {
    const item = syncItem("key", { source: "db" });
    expect(resolve(item, [candidate(4)], synced(5), ["db@4"])).toMatchObject({
      state: "found",
      version: 4,
    });
    for (const other of ["db@3", "db@5", "key@4", "db", "", "DB@4"]) {
      expect(resolve(item, [candidate(4)], synced(5), [other]).state, other).toBe("regressed");
    }
  });

  test("follows a lower version of another entry", () => {
    expect(resolve(syncItem("db"), [candidate(1)], synced(5, "dba@example.com")).state).toBe(
      "found",
    );
    expect(
      resolve(syncItem("db"), [candidate(1)], synced(5, "ops@example.com", "former")).state,
    ).toBe("found");
    expect(resolve(syncItem("db"), [candidate(1, { vault: "another" })], synced(5)).state).toBe(
      "found",
    );
  });
});

describe("a hold", () => {
  const item = syncItem("db");
  const held = (text: string, remembered: Remembered, latest = 5, changes = {}) =>
    resolveItem(
      syncResource([item], { hold: parseHold(text) }),
      item,
      [candidate(latest, changes)],
      remembered,
      NOW,
    );
  const three = '{"versions": {"db": 3}}';

  test("serves the version that it names, an older or a newer one, with and without a target", () => {
    for (const remembered of [nothing, synced(2), synced(3), synced(5)]) {
      expect(held(three, remembered)).toMatchObject({
        state: "found",
        version: 3,
        gate: { reason: "Held", version: 3 },
      });
    }
  });

  test("that names no version keeps the one of the target, or the last one of the status", () => {
    expect(held("*", synced(3))).toMatchObject({ version: 3, gate: { reason: "Held" } });
    expect(held("*", { ...nothing, served: 3 })).toMatchObject({ version: 3 });
    expect(held("not JSON", synced(3))).toMatchObject({ version: 3 });
    expect(held('{"versions": {"other": 1}}', synced(3))).toMatchObject({ version: 3 });
  });

  test("without a version to keep creates the latest one", () => {
    expect(held("*", nothing)).toMatchObject({ state: "found", version: 5 });
  });

  test("does not outweigh an accepted lower version, and reports one that is not accepted", () => {
    expect(held("*", synced(9)).state).toBe("regressed");
  });

  test("of a version that the vault does not have keeps the bytes", () => {
    const gone = { state: "no-version", version: 3, held: "named" };
    expect(held(three, synced(2), 2)).toMatchObject(gone);
    const sizes = new Map([[5, 1]]);
    expect(held(three, synced(5), 5, { sizes })).toMatchObject(gone);
    expect(held(three, synced(3), 5, { sizes })).toMatchObject({ state: "found", version: 3 });
  });

  test("keeps bytes of another vault, unless it names a version", () => {
    const other = { ...synced(3, "ops@example.com", "elsewhere"), isOfOtherVault: true };
    expect(held("*", other)).toMatchObject({ state: "no-version", held: "other-vault" });
    expect(held(three, other)).toMatchObject({ state: "found", version: 3 });
  });

  test("leaves pinned versions and missing entries alone", () => {
    const pinned = syncItem("db", { version: 4 });
    const resource = syncResource([pinned], { hold: parseHold(three) });
    expect(resolveItem(resource, pinned, [candidate(5)], synced(3), NOW)).toMatchObject({
      state: "found",
      version: 4,
    });
    expect(resolveItem(resource, item, [], synced(3), NOW).state).toBe("missing");
  });
});

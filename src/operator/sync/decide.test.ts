import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/support/kube/sync-resource.ts";
import { type Decision, decide, MAX_TARGET_BYTES } from "./decide.ts";
import type { Resolution } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId, type TargetState } from "./target.ts";

const OWNER = "ops@example.com";
const DEADLINE = Date.UTC(2026, 10, 20);

const found = (item: SyncItem, version: number, sizes?: ReadonlyMap<number, number>): Resolution => ({
  state: "found",
  item,
  candidate: candidate(version, { sizes }),
  version,
});
const removed = (item: SyncItem): Resolution => ({ state: "removed", item, deleteAt: DEADLINE });
const missing = (item: SyncItem): Resolution => ({ state: "missing", item, deleteAt: undefined });

const syncedKey = (source: string, version: number): SyncedKey => ({ version, source: sourceId(source, OWNER) });

function owned(
  synced: Readonly<Record<string, number>>,
  changes: { annotationsCorrupted?: boolean; content?: string } = {},
): TargetState {
  const keys = Object.entries(synced).map(([key, version]) => [key, syncedKey(key, version)] as const);
  return {
    state: "owned",
    uid: "uid-1",
    resourceVersion: "41",
    content: "digest",
    synced: new Map(keys),
    annotationsCorrupted: false,
    ...changes,
  };
}
const sized = (size: number): ReadonlyMap<number, number> => new Map([[1, size]]);
const absent: TargetState = { state: "absent" };

/** A plan in one line: `write a=target@3 b=vault@4`. */
function summary({ plan }: Decision): string {
  if (plan.action === "keep" || plan.action === "delete") return plan.action;
  const entries = plan.entries.map((entry) =>
    entry.from === "target"
      ? `${entry.targetKey}=target@${entry.synced.version}`
      : `${entry.targetKey}=vault@${entry.fetch.version}`,
  );
  return [plan.action, ...entries].join(" ");
}

const a = syncItem("a");
const b = syncItem("b");
const both = syncResource([a, b]);
const retaining = syncResource([a, b], { whenRemoved: "Retain" });

describe("a target that is not there", () => {
  test.each<[string, SyncResource, Resolution[], string, string]>([
    ["is written whole", both, [found(a, 3), found(b, 4)], "write a=vault@3 b=vault@4", "Synced"],
    ["is not written while an entry is missing", both, [found(a, 3), missing(b)], "keep", "SourceMissing"],
    [
      "is not written while a version does not exist",
      both,
      [found(a, 3), { state: "no-version", item: b, candidate: candidate(1), version: 2 }],
      "keep",
      "VersionNotFound",
    ],
    [
      "is not written while a name is ambiguous",
      both,
      [found(a, 3), { state: "ambiguous", item: b, owners: ["x", "y"] }],
      "keep",
      "AmbiguousName",
    ],
    [
      "is not written while a version has gone back",
      both,
      [found(a, 3), { state: "regressed", item: b, candidate: candidate(1), syncedVersion: 2 }],
      "keep",
      "VersionRegressed",
    ],
    ["is written without what the vault removed", both, [found(a, 3), removed(b)], "write a=vault@3", "SourceRemoved"],
    [
      "the same where removed bytes are to be retained: there are none",
      retaining,
      [found(a, 3), removed(b)],
      "write a=vault@3",
      "SourceRemoved",
    ],
    ["is not written when everything was removed", both, [removed(a), removed(b)], "keep", "SourceRemoved"],
    ["is not written when everything is missing", both, [missing(a), missing(b)], "keep", "SourceMissing"],
  ])("%s", (_, resource, resolutions, plan, reason) => {
    const decision = decide(resource, resolutions, absent);
    expect(summary(decision)).toBe(plan);
    expect(decision.readyCondition.reason).toBe(reason);
    expect(decision.readyCondition.ready).toBe(reason === "Synced");
  });
});

describe("a target of ours", () => {
  test.each<[string, SyncResource, Resolution[], TargetState, string]>([
    [
      "that holds everything is only verified",
      both,
      [found(a, 3), found(b, 4)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    ["follows the one that changed", both, [found(a, 3), found(b, 5)], owned({ a: 3, b: 4 }), "write a=target@3 b=vault@5"],
    ["gets a key that is new in the spec", both, [found(a, 3), found(b, 1)], owned({ a: 3 }), "write a=target@3 b=vault@1"],
    ["loses a key that is no longer in the spec", syncResource([a]), [found(a, 3)], owned({ a: 3, b: 4 }), "write a=target@3"],
    [
      "keeps the bytes of a missing entry and follows the others",
      both,
      [found(a, 9), missing(b)],
      owned({ a: 3, b: 4 }),
      "write a=vault@9 b=target@4",
    ],
    [
      "is only verified when nothing but a missing entry differs",
      both,
      [found(a, 3), missing(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "goes without a new key that is missing, as it did before",
      both,
      [found(a, 9), missing(b)],
      owned({ a: 3 }),
      "write a=vault@9",
    ],
    ["drops the key of a removed entry", both, [found(a, 3), removed(b)], owned({ a: 3, b: 4 }), "write a=target@3"],
    ["has nothing more to drop afterwards", both, [found(a, 3), removed(b)], owned({ a: 3 }), "verify a=target@3"],
    [
      "keeps the key of a removed entry under Retain",
      retaining,
      [found(a, 3), removed(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    ["goes when everything was removed", both, [removed(a), removed(b)], owned({ a: 3, b: 4 }), "delete"],
    [
      "stays when everything was removed under Retain",
      retaining,
      [removed(a), removed(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "stays when one was removed and the other is missing",
      both,
      [removed(a), missing(b)],
      owned({ a: 3, b: 4 }),
      "write b=target@4",
    ],
    [
      "stays when one was removed and the other, never synced, is missing",
      both,
      [removed(a), missing(b)],
      owned({ a: 3 }),
      "keep",
    ],
    ["stays when everything is missing", both, [missing(a), missing(b)], owned({ a: 3, b: 4 }), "verify a=target@3 b=target@4"],
    ["stays when the spec asks for nothing", syncResource([]), [], owned({ a: 3 }), "keep"],
  ])("%s", (_, resource, resolutions, target, plan) => {
    expect(summary(decide(resource, resolutions, target))).toBe(plan);
  });

  test("keeps the version it holds of an entry that went back, that is ambiguous, or whose pinned version does not exist", () => {
    const others: Resolution[] = [
      { state: "regressed", item: b, candidate: candidate(2), syncedVersion: 4 },
      { state: "ambiguous", item: b, owners: ["x", "y"] },
      { state: "no-version", item: b, candidate: candidate(4), version: 9 },
    ];
    for (const other of others) {
      expect(summary(decide(both, [found(a, 9), other], owned({ a: 3, b: 4 }))), other.state).toBe("write a=vault@9 b=target@4");
    }
  });

  test("the same version of another entry is fetched: bytes are never taken for another's", () => {
    const other = { ...found(a, 3), candidate: candidate(3, { owner: "dba@example.com", own: false }) };
    expect(summary(decide(syncResource([a]), [other], owned({ a: 3 })))).toBe("write a=vault@3");
    const renamed = syncItem("a", { source: "elsewhere" });
    expect(summary(decide(syncResource([renamed]), [found(renamed, 3)], owned({ a: 3 })))).toBe("write a=vault@3");
  });

  test("what it holds can be fetched again where it is listed, and is named as it is synced where it is not", () => {
    const { plan } = decide(both, [found(a, 3), missing(b)], owned({ a: 3, b: 4 }));
    expect(plan).toMatchObject({
      entries: [
        { targetKey: "a", from: "target", synced: syncedKey("a", 3), refetch: { version: 3 } },
        { targetKey: "b", from: "target", synced: syncedKey("b", 4), refetch: undefined },
      ],
    });
  });

  test("a deletion is of this very state of this very object", () => {
    expect(decide(both, [removed(a), removed(b)], owned({ a: 3 })).plan).toEqual({
      action: "delete",
      uid: "uid-1",
      resourceVersion: "41",
    });
  });
});

describe("a target whose annotations somebody annotationsCorrupted, so that it may hold more than they say", () => {
  const annotationsCorrupted = owned({}, { annotationsCorrupted: true });

  test.each<[string, SyncResource, Resolution[], TargetState, string]>([
    [
      "is made whole where everything can be had",
      both,
      [found(a, 3), found(b, 4)],
      annotationsCorrupted,
      "write a=vault@3 b=vault@4",
    ],
    ["keeps its keys while one of them is missing", both, [found(a, 3), missing(b)], annotationsCorrupted, "keep"],
    [
      "the same when only part of them is unknown",
      both,
      [found(a, 3), missing(b)],
      owned({ a: 3 }, { annotationsCorrupted: true }),
      "keep",
    ],
    ["loses what the vault removed", both, [found(a, 3), removed(b)], annotationsCorrupted, "write a=vault@3"],
    ["keeps what the vault removed under Retain", retaining, [found(a, 3), removed(b)], annotationsCorrupted, "keep"],
    ["is not deleted under Retain", retaining, [removed(a), removed(b)], annotationsCorrupted, "keep"],
    ["is deleted when everything was removed", both, [removed(a), removed(b)], annotationsCorrupted, "delete"],
  ])("%s", (_, resource, resolutions, target, plan) => {
    expect(summary(decide(resource, resolutions, target))).toBe(plan);
  });
});

describe("obstacles, which leave the target alone whatever the vault has", () => {
  test("the target is somebody else's", () => {
    const foreign = (owner: string | undefined) => decide(both, [found(a, 3), removed(b)], { state: "foreign", owner });
    expect(summary(foreign(undefined))).toBe("keep");
    expect(foreign(undefined).readyCondition).toEqual({
      ready: false,
      reason: "TargetConflict",
      message: "the Secret db already exists and is not managed by this operator: choose another target.name, or delete it",
    });
    expect(foreign("VaultFile/web").readyCondition.message).toContain("belongs to VaultFile/web");
    expect(summary(decide(both, [removed(a), removed(b)], { state: "foreign", owner: undefined }))).toBe("keep");
  });

  test.each([
    ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
    ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
    ["kubernetes.io/dockercfg", [".dockercfg"]],
    ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ])("a Secret of type %s needs its keys", (type, keys) => {
    const target = { kind: "Secret", name: "db", type } as const;
    const with_ = (names: readonly string[]): Decision => {
      const items = [...names.map((name) => syncItem(name)), a];
      return decide(
        syncResource(items, { target }),
        items.map((item) => found(item, 1)),
        absent,
      );
    };
    expect(with_(keys).plan.action).toBe("write");
    for (const lacking of keys) {
      const decision = with_(keys.filter((key) => key !== lacking));
      expect(decision).toMatchObject({ plan: { action: "keep" }, readyCondition: { reason: "InvalidSpec" } });
      expect(decision.readyCondition.message).toContain(lacking);
    }
  });

  test("files that are too large together are told by the list, before any is fetched", () => {
    const half = MAX_TARGET_BYTES / 2;
    const exactly = decide(both, [found(a, 1, sized(half)), found(b, 1, sized(half))], absent);
    expect(exactly.plan.action).toBe("write");
    const over = decide(both, [found(a, 1, sized(half)), found(b, 1, sized(half + 1))], owned({ a: 1, b: 1 }));
    expect(over).toMatchObject({ plan: { action: "keep" }, readyCondition: { ready: false, reason: "TooLarge" } });
    expect(over.readyCondition.message).toMatch(/1048577 bytes.*1048576/);
  });

  test("it is the size of the version meant that counts", () => {
    const sizes = new Map([
      [1, 10],
      [2, MAX_TARGET_BYTES + 1],
    ]);
    const pinned: Resolution = { state: "found", item: a, candidate: candidate(2, { sizes }), version: 1 };
    expect(decide(syncResource([a]), [pinned], absent).plan.action).toBe("write");
  });
});

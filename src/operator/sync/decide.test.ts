import { describe, expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncItem,
  syncResource,
} from "../../../test/lab/kube/sync-resource.ts";
import {
  a,
  absent,
  b,
  both,
  deleted,
  found,
  handedOver,
  held,
  missing,
  owned,
  removed,
  retained,
  summary,
  syncedKey,
} from "../../../test/lab/kube/resolutions.ts";
import { decide } from "./decide.ts";
import type { Resolution } from "./resolution.ts";
import type { SyncResource } from "./sync-resource.ts";
import { type TargetState } from "./target.ts";

describe("decide for an absent target", () => {
  test.each<[string, SyncResource, Resolution[], string, string]>([
    ["writes all keys", both, [found(a, 3), found(b, 4)], "write a=vault@3 b=vault@4", "Synced"],
    [
      "keeps it absent while an entry is missing",
      both,
      [found(a, 3), missing(b)],
      "keep",
      "SourceMissing",
    ],
    [
      "keeps it absent while a version does not exist",
      both,
      [found(a, 3), { state: "no-version", item: b, candidate: candidate(1), version: 2 }],
      "keep",
      "VersionNotFound",
    ],
    [
      "keeps it absent while a name is ambiguous",
      both,
      [found(a, 3), { state: "ambiguous", item: b, owners: ["x", "y"] }],
      "keep",
      "AmbiguousName",
    ],
    [
      "keeps it absent while a version has gone back",
      both,
      [found(a, 3), { state: "regressed", item: b, candidate: candidate(1), syncedVersion: 2 }],
      "keep",
      "VersionRegressed",
    ],
    [
      "writes it without a removed entry",
      both,
      [found(a, 3), removed(b)],
      "write a=vault@3",
      "SourceRemoved",
    ],
    [
      "writes it without a removed entry under Retain, as there are no bytes to retain",
      both,
      [found(a, 3), retained(b)],
      "write a=vault@3",
      "SourceRemoved",
    ],
    [
      "keeps it absent if all entries were removed",
      both,
      [removed(a), removed(b)],
      "keep",
      "SourceRemoved",
    ],
    [
      "keeps it absent if all entries are missing",
      both,
      [missing(a), missing(b)],
      "keep",
      "SourceMissing",
    ],
  ])("%s", (_, resource, resolutions, plan, reason) => {
    const decision = decide(resource, resolutions, absent);
    expect(summary(decision)).toBe(plan);
    expect(decision.readyCondition.reason).toBe(reason);
    expect(decision.readyCondition.ready).toBe(reason === "Synced");
  });
});

describe("decide for a found name whose key another source has", () => {
  const other: Resolution = { state: "unusable", item: { ...a, source: "b" }, why: "taken" };

  test.each([
    [absent, "write a=vault@3"],
    [owned({ a: 3 }), "verify a=target@3"],
    [owned({ a: 2 }), "write a=vault@3"],
  ])("%j: leaves the key to that source", (target, plan) => {
    expect(summary(decide(syncResource([a]), [found(a, 3), other], target))).toBe(plan);
  });
});

describe("decide for an owned target", () => {
  test.each<[string, SyncResource, Resolution[], TargetState, string]>([
    [
      "only verifies a target that has all keys",
      both,
      [found(a, 3), found(b, 4)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "fetches only the changed entry",
      both,
      [found(a, 3), found(b, 5)],
      owned({ a: 3, b: 4 }),
      "write a=target@3 b=vault@5",
    ],
    [
      "adds a key that is new in the spec",
      both,
      [found(a, 3), found(b, 1)],
      owned({ a: 3 }),
      "write a=target@3 b=vault@1",
    ],
    [
      "drops a key that is no longer in the spec",
      syncResource([a]),
      [found(a, 3)],
      owned({ a: 3, b: 4 }),
      "write a=target@3",
    ],
    [
      "keeps the bytes of a missing entry and follows the others",
      both,
      [found(a, 9), missing(b)],
      owned({ a: 3, b: 4 }),
      "write a=vault@9 b=target@4",
    ],
    [
      "only verifies it if nothing differs but a missing entry",
      both,
      [found(a, 3), missing(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "omits a new key whose entry is missing",
      both,
      [found(a, 9), missing(b)],
      owned({ a: 3 }),
      "write a=vault@9",
    ],
    [
      "drops the key of a removed entry",
      both,
      [found(a, 3), removed(b)],
      owned({ a: 3, b: 4 }),
      "write a=target@3",
    ],
    [
      "only verifies it after a removed key was dropped",
      both,
      [found(a, 3), removed(b)],
      owned({ a: 3 }),
      "verify a=target@3",
    ],
    [
      "keeps the key of a removed entry under Retain",
      both,
      [found(a, 3), retained(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "deletes it if all entries were removed",
      both,
      [removed(a), removed(b)],
      owned({ a: 3, b: 4 }),
      "delete",
    ],
    [
      "keeps one that is handed over if all entries were removed",
      both,
      [removed(a), removed(b)],
      handedOver,
      "keep",
    ],
    [
      "deletes it if all entries were removed or deleted",
      both,
      [removed(a), deleted(b)],
      owned({ a: 3, b: 4 }),
      "delete",
    ],
    [
      "drops the key of a deleted entry",
      both,
      [found(a, 3), deleted(b)],
      owned({ a: 3, b: 4 }),
      "write a=target@3",
    ],
    [
      "keeps the key of a held deletion",
      both,
      [found(a, 3), held(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "keeps it if all entries were removed under Retain",
      both,
      [retained(a), retained(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    [
      "keeps it if one entry was removed and the other is missing",
      both,
      [removed(a), missing(b)],
      owned({ a: 3, b: 4 }),
      "write b=target@4",
    ],
    [
      "deletes it if one entry was removed and the other is missing and was never synced",
      both,
      [removed(a), missing(b)],
      owned({ a: 3 }),
      "delete",
    ],
    [
      "keeps it if all entries are missing",
      both,
      [missing(a), missing(b)],
      owned({ a: 3, b: 4 }),
      "verify a=target@3 b=target@4",
    ],
    ["keeps it if the spec has no items", syncResource([]), [], owned({ a: 3 }), "keep"],
  ])("%s", (_, resource, resolutions, target, plan) => {
    expect(summary(decide(resource, resolutions, target))).toBe(plan);
  });

  test("repairs it if its controller is a deleted resource of the same name, or missing", () => {
    const former = { hasMetadata: false };
    expect(summary(decide(both, [found(a, 3), found(b, 4)], owned({ a: 3, b: 4 }, former)))).toBe(
      "repair a=target@3 b=target@4",
    );
    expect(summary(decide(both, [found(a, 3), missing(b)], owned({ a: 3, b: 4 }, former)))).toBe(
      "repair a=target@3 b=target@4",
    );
    expect(summary(decide(both, [found(a, 9), found(b, 4)], owned({ a: 3, b: 4 }, former)))).toBe(
      "write a=vault@9 b=target@4",
    );
  });

  test("keeps the synced version of an entry that regressed, is ambiguous or lacks its version", () => {
    const others: Resolution[] = [
      { state: "regressed", item: b, candidate: candidate(2), syncedVersion: 4 },
      { state: "ambiguous", item: b, owners: ["x", "y"] },
      { state: "no-version", item: b, candidate: candidate(4), version: 9 },
    ];
    for (const other of others) {
      expect(summary(decide(both, [found(a, 9), other], owned({ a: 3, b: 4 }))), other.state).toBe(
        "write a=vault@9 b=target@4",
      );
    }
  });

  test("fetches the same version of another entry instead of reusing the bytes", () => {
    const other = {
      ...found(a, 3),
      candidate: candidate(3, { owner: "dba@example.com", own: false }),
    };
    expect(summary(decide(syncResource([a]), [other], owned({ a: 3 })))).toBe("write a=vault@3");
    const renamed = syncItem("a", { source: "elsewhere" });
    expect(summary(decide(syncResource([renamed]), [found(renamed, 3)], owned({ a: 3 })))).toBe(
      "write a=vault@3",
    );
  });

  test.each<[string | undefined, string | undefined, string]>([
    ["new", "new:a", "verify a=target@3"],
    ["new", "old:a", "write a=vault@3"],
    ["new", undefined, "write a=vault@3"],
    [undefined, "old:a", "write a=vault@3"],
  ])("found by the rule %s, with the claim %s: %s", (digest, claim, plan) => {
    const rule = { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [] };
    const item = syncItem("a", digest === undefined ? {} : { foundBy: { ...rule, digest } });
    const target = ownedTarget(new Map([["a", { ...syncedKey("a", 3), found: claim }]]));
    expect(summary(decide(syncResource([item]), [found(item, 3)], target))).toBe(plan);
  });

  test("marks synced bytes as refetchable only while their entry is listed", () => {
    const { plan } = decide(both, [found(a, 3), missing(b)], owned({ a: 3, b: 4 }));
    expect(plan).toMatchObject({
      entries: [
        { id: "a", from: "target", synced: syncedKey("a", 3), refetch: { version: 3 } },
        { id: "b", from: "target", synced: syncedKey("b", 4), refetch: undefined },
      ],
    });
  });

  test("deletes exactly the uid and resourceVersion it was decided for", () => {
    expect(decide(both, [removed(a), removed(b)], owned({ a: 3 })).plan).toEqual({
      action: "delete",
      uid: "uid-1",
      resourceVersion: "41",
    });
  });
});

describe("decide for an owned target with corrupted annotations", () => {
  const annotationsCorrupted = owned({}, { annotationsCorrupted: true });

  test.each<[string, SyncResource, Resolution[], TargetState, string]>([
    [
      "writes all keys if all entries are available",
      both,
      [found(a, 3), found(b, 4)],
      annotationsCorrupted,
      "write a=vault@3 b=vault@4",
    ],
    [
      "keeps it while an entry is missing",
      both,
      [found(a, 3), missing(b)],
      annotationsCorrupted,
      "keep",
    ],
    [
      "keeps it while an entry is missing, also if only some keys are unknown",
      both,
      [found(a, 3), missing(b)],
      owned({ a: 3 }, { annotationsCorrupted: true }),
      "keep",
    ],
    [
      "drops a removed entry",
      both,
      [found(a, 3), removed(b)],
      annotationsCorrupted,
      "write a=vault@3",
    ],
    [
      "keeps it under Retain if an entry was removed",
      both,
      [found(a, 3), retained(b)],
      annotationsCorrupted,
      "keep",
    ],
    [
      "keeps it under Retain if all entries were removed",
      both,
      [retained(a), retained(b)],
      annotationsCorrupted,
      "keep",
    ],
    [
      "deletes it if all entries were removed",
      both,
      [removed(a), removed(b)],
      annotationsCorrupted,
      "delete",
    ],
  ])("%s", (_, resource, resolutions, target, plan) => {
    expect(summary(decide(resource, resolutions, target))).toBe(plan);
  });
});

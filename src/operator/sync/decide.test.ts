import { describe, expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncItem,
  syncResource,
  VAULT,
} from "../../../test/lab/kube/sync-resource.ts";
import { type Decision, decide, MAX_TARGET_BYTES } from "./decide.ts";
import type { Resolution } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId, type TargetState } from "./target.ts";

const OWNER = "ops@example.com";
const DEADLINE = Date.UTC(2026, 10, 20);

const found = (
  item: SyncItem,
  version: number,
  sizes?: ReadonlyMap<number, number>,
): Resolution => ({
  state: "found",
  item,
  candidate: candidate(version, { sizes }),
  version,
});
const removed = (item: SyncItem): Resolution => ({
  state: "removed",
  item,
  deleteAt: DEADLINE,
  deletion: "due",
});
const retained = (item: SyncItem): Resolution => ({ state: "removed", item, deleteAt: DEADLINE });
const deleted = (item: SyncItem): Resolution => ({ state: "missing", item, deletion: "due" });
const held = (item: SyncItem): Resolution => ({ state: "missing", item, deletion: "held" });
const missing = (item: SyncItem): Resolution => ({ state: "missing", item });

const syncedKey = (source: string, version: number): SyncedKey => ({
  version,
  source: sourceId(VAULT, source, OWNER),
});

function owned(
  synced: Readonly<Record<string, number>>,
  changes: { annotationsCorrupted?: boolean; content?: string; hasMetadata?: boolean } = {},
): TargetState {
  const keys = Object.entries(synced).map(
    ([key, version]) => [key, syncedKey(key, version)] as const,
  );
  return ownedTarget(new Map(keys), changes);
}
const sized = (size: number): ReadonlyMap<number, number> => new Map([[1, size]]);
const absent: TargetState = { state: "absent" };
const handedOver = ownedTarget(new Map(), { adoption: { confirmed: undefined } });

/** Formats a plan in one line: `write a=target@3 b=vault@4`. */
function summary({ plan }: Decision): string {
  if (plan.action === "keep" || plan.action === "delete") return plan.action;
  const entries = plan.entries.map((entry) =>
    entry.from === "target"
      ? `${entry.id}=target@${entry.synced.version}`
      : `${entry.id}=vault@${entry.fetch.version}`,
  );
  return [plan.action, ...entries].join(" ");
}

const a = syncItem("a");
const b = syncItem("b");
const both = syncResource([a, b]);

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

describe("decide for a target that must not be written", () => {
  test("reports TargetConflict for a foreign target", () => {
    const foreign = (owner: string | undefined) =>
      decide(both, [found(a, 3), removed(b)], { state: "foreign", owner });
    expect(summary(foreign(undefined))).toBe("keep");
    expect(foreign(undefined).readyCondition).toEqual({
      ready: false,
      reason: "TargetConflict",
      message:
        "the Secret db already exists and is not managed by this operator: choose another target.name, delete it, or hand it over with the annotation vaultsync.dev/adopt: VaultSecret/db",
    });
    expect(foreign("VaultFile/web").readyCondition.message).toContain("belongs to VaultFile/web");
    expect(foreign("VaultSecret/db")).toEqual(foreign(undefined));
    expect(
      summary(decide(both, [removed(a), removed(b)], { state: "foreign", owner: undefined })),
    ).toBe("keep");
  });

  test.each([
    ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
    ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
    ["kubernetes.io/dockercfg", [".dockercfg"]],
    ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ])("reports InvalidSpec for a Secret of type %s without its keys", (type, keys) => {
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
      expect(decision).toMatchObject({
        plan: { action: "keep" },
        readyCondition: { reason: "InvalidSpec" },
      });
      expect(decision.readyCondition.message).toContain(lacking);
    }
  });

  test("reports TooLarge from listed file sizes, before any file is fetched", () => {
    const half = MAX_TARGET_BYTES / 2;
    const exactly = decide(both, [found(a, 1, sized(half)), found(b, 1, sized(half))], absent);
    expect(exactly.plan.action).toBe("write");
    const over = decide(
      both,
      [found(a, 1, sized(half)), found(b, 1, sized(half + 1))],
      owned({ a: 1, b: 1 }),
    );
    expect(over).toMatchObject({
      plan: { action: "keep" },
      readyCondition: { ready: false, reason: "TooLarge" },
    });
    expect(over.readyCondition.message).toMatch(/1048577 bytes.*1048576/);
  });

  test("counts the sizes that are listed, whatever else is known", () => {
    const over = found(a, 1, sized(MAX_TARGET_BYTES + 1));
    for (const other of [found(b, 1), missing(b)]) {
      expect(decide(both, [over, other], owned({ b: 1 })).readyCondition.reason).toBe("TooLarge");
    }
  });

  test("counts the size of the desired version only", () => {
    const sizes = new Map([
      [1, 10],
      [2, MAX_TARGET_BYTES + 1],
    ]);
    const pinned: Resolution = {
      state: "found",
      item: a,
      candidate: candidate(2, { sizes }),
      version: 1,
    };
    expect(decide(syncResource([a]), [pinned], absent).plan.action).toBe("write");
  });
});

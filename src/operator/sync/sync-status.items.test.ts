import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { reportOf } from "./report.ts";
import type { Resolution } from "./resolution.ts";
import type { Hold, SyncResource } from "./sync-resource.ts";
import {
  readStatus,
  removesWhenGone,
  reportedDeadline,
  reportedName,
  reportedOwners,
  showsBytes,
  showsServed,
  type SyncStatus,
} from "./stored-status.ts";
import { nextStatus, type StatusInput } from "./sync-status.ts";

const NOW = Date.UTC(2026, 10, 21);
const a = syncItem("a");
const resource = syncResource([a]);
const found = (changes: Partial<ReturnType<typeof candidate>> = {}): Resolution => ({
  state: "found",
  item: a,
  candidate: candidate(3, changes),
  version: 3,
});
const missing: Resolution = { state: "missing", item: a };

test("a status names the source of each key that it shows", () => {
  const items = [
    { secretKey: "password", key: "db" },
    { secretKey: "user", key: "db-user" },
  ];
  expect(reportedName({ items }, "user")).toBe("db-user");
  expect(reportedName({ items }, "db")).toBeUndefined();
  const files = [{ key: "ca.crt", filename: "ca.pem", version: 1 }];
  expect(reportedName({ items: files }, "ca.crt")).toBe("ca.pem");
  expect(reportedName({}, "user")).toBeUndefined();
});

/**
 * Returns the status after a reconcile that resolved the items like this, as the next one parses
 * it.
 */
function next(
  before: SyncStatus,
  resolutions: readonly Resolution[],
  changes: Partial<StatusInput> = {},
): SyncStatus {
  const report = reportOf(
    { ready: true, reason: "Synced", message: "x" },
    { resolutions, connection: "connection", ...changes },
  );
  return readStatus(
    "VaultSecret",
    JSON.parse(JSON.stringify(nextStatus(before, { resource, now: NOW, ...report }))),
  );
}

/** Returns the version of the only item. */
const versionOf = (status: SyncStatus): number | undefined => status.items?.[0]?.version;
const ownerOf = (status: SyncStatus): string | undefined =>
  (status.items as { owner?: string }[] | undefined)?.[0]?.owner;
const messageOf = (status: SyncStatus, type: string): string | undefined =>
  status.conditions?.find((one) => one.type === type)?.message;

describe("the version of an item", () => {
  const served = next({}, [found()], { versions: new Map([["a", 3]]) });

  test("is that of the target, or the last one while there is no target", () => {
    expect(versionOf(served)).toBe(3);
    expect(versionOf(next(served, [missing]))).toBe(3);
    expect(versionOf(next(served, [found()], { versions: new Map([["a", 4]]) }))).toBe(4);
    expect(versionOf(next({}, [missing]))).toBeUndefined();
  });

  test.each<[string, Resolution, string]>([
    ["another connection", missing, "another"],
    ["a source that the vault removed", { state: "removed", item: a, deleteAt: NOW }, "connection"],
    ["a source whose key was removed", { ...missing, deletion: "due" }, "connection"],
  ])("does not outlive its target with %s", (_, resolution, connection) => {
    expect(versionOf(next(served, [resolution], { connection }))).toBeUndefined();
  });

  test("does not outlive the entry of another owner", () => {
    const shared = next({}, [found({ owner: "dba@example.com", own: false })], {
      versions: new Map([["a", 3]]),
    });
    expect(versionOf(next(shared, [missing]))).toBe(3);
    expect(versionOf(next(shared, [found()]))).toBeUndefined();
  });

  test("stays while the removal of its key is awaited or held", () => {
    for (const deletion of ["awaited", "held"] as const) {
      expect(versionOf(next(served, [{ ...missing, deletion }]))).toBe(3);
    }
  });
});

test("the owner of an item is another account, and stays while its source is missing", () => {
  const shared = next({}, [found({ owner: "dba@example.com", own: false })]);
  expect(ownerOf(shared)).toBe("dba@example.com");
  expect(ownerOf(next(shared, [missing]))).toBe("dba@example.com");
  expect(ownerOf(next(shared, [found()]))).toBeUndefined();
});

const items = (count: number, change: (key: string) => Resolution): Resolution[] =>
  Array.from({ length: count }, (_, at) => change(`k${at}`));
const pinned = (key: string): Resolution => ({
  state: "found",
  item: syncItem(key, { version: 1 }),
  candidate: candidate(2),
  version: 1,
});
const deferred = (key: string): Resolution => ({
  state: "found",
  item: syncItem(key),
  candidate: candidate(2),
  version: 1,
  gate: { reason: "RefreshInterval", opensInMs: 1_000 },
});
const held = (key: string): Resolution =>
  ({ ...deferred(key), gate: { reason: "Held" } }) as Resolution;
const expiring = (key: string): Resolution =>
  ({ ...pinned(key), candidate: candidate(1, { expiresAt: NOW }) }) as Resolution;

const withHold = (hold: Hold, resolution: Resolution): SyncStatus =>
  next({}, [resolution], { resource: { ...resource, hold } });

describe("conditions about items", () => {
  test("name up to three of them", () => {
    const once = "2026-11-21T00:00:00.000Z";
    const named = [0, 1, 2].map((at) => `k${at} at ${once}`).join(", ");
    expect(messageOf(next({}, items(3, expiring)), "ExpiringSoon")).toBe(
      `expires soon, or has expired: ${named}`,
    );
    expect(messageOf(next({}, items(5, expiring)), "ExpiringSoon")).toBe(
      `expires soon, or has expired: ${named} and 2 more`,
    );
  });

  test("tell pinned versions from those that follow later", () => {
    const later = "newer versions that are followed at the end of spec.refreshInterval: d 1 → 2";
    expect(messageOf(next({}, [deferred("d")]), "UpdateAvailable")).toBe(later);
    expect(messageOf(next({}, [pinned("p"), deferred("d")]), "UpdateAvailable")).toBe(
      `newer versions available for pinned items: p 1 → 2; ${later}`,
    );
  });

  test("say which versions are held, who holds them, and how that ends", () => {
    const hold = { versions: new Map<string, number>(), note: "by ann: typo" };
    const status = withHold(hold, held("h"));
    expect(messageOf(status, "Held")).toBe(
      "vaultsync.dev/hold keeps the versions (by ann: typo) until the annotation is removed",
    );
    const update = status.conditions?.find(({ type }) => type === "UpdateAvailable");
    expect(update).toMatchObject({
      reason: "Held",
      message: "newer versions that are held back: h 1 → 2",
    });
    const latest = withHold({ ...hold, note: "", problem: "vaultsync.dev/hold: bad" }, found());
    expect(messageOf(latest, "Held")).toBe(
      "nothing newer is followed until the annotation is removed or corrected: vaultsync.dev/hold: bad",
    );
    expect(messageOf(latest, "UpdateAvailable")).toBeUndefined();
  });

  test("have reasons of their own, next to Ready", () => {
    const { conditions } = next({}, [pinned("p"), expiring("e")]);
    expect(conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      "Ready True Synced",
      "UpdateAvailable True Synced",
      "ExpiringSoon True Expired",
    ]);
  });

  test("say nothing about items that are not found", () => {
    expect(next({}, [missing]).conditions?.map(({ type }) => type)).toEqual(["Ready"]);
  });
});

test("a vault that does not respond is reported with the time since when", () => {
  expect(
    messageOf(next({}, [found()], { stale: { since: NOW, reason: "VaultUnreachable" } }), "Stale"),
  ).toBe(
    "the vault was not listed reliably since 2026-11-21T00:00:00.000Z; the target is kept unchanged",
  );
});

const policy = (whenRemoved: "Delete" | "Retain", whenMissing: "Delete" | "Retain"): SyncResource =>
  syncResource([a], { whenRemoved, whenMissing });

test("an item shows bytes of another vault, and the owner of the entry they stand for", () => {
  const other = { ofOtherVault: new Set(["a"]), versions: new Map<string, number>() };
  const shown = next({}, [missing], other);
  expect(shown.items).toEqual([{ secretKey: "a", key: missing.item.source, otherVault: true }]);
  expect(showsBytes(shown, missing.item.source)).toBe(true);
  expect(reportedOwners(shown, missing.item.source)).toEqual([""]);
  expect(next(shown, [missing]).items?.[0]).not.toHaveProperty("otherVault");
});

describe("showsServed", () => {
  const retain = policy("Retain", "Retain");
  const item = { secretKey: "key", key: "a", version: 1 };
  const deleteAt = "2026-11-21T00:00:00Z";

  test.each<[string, boolean, SyncResource, SyncStatus]>([
    ["bytes that were listed", true, retain, { items: [{ ...item, latest: 1 }] }],
    [
      "bytes of a file that was listed",
      true,
      retain,
      { items: [{ key: "key", filename: "a", version: 1, latest: 1 }] },
    ],
    ["no bytes", false, retain, { items: [{ secretKey: "key", key: "a", latest: 1 }] }],
    ["bytes of another source", false, retain, { items: [{ ...item, key: "b", latest: 1 }] }],
    ["no items", false, retain, {}],
    [
      "bytes of a missing source that are kept",
      false,
      policy("Delete", "Retain"),
      { items: [item] },
    ],
    [
      "bytes of a missing source that are removed",
      true,
      policy("Retain", "Delete"),
      { items: [item] },
    ],
    [
      "bytes of a removed source that are kept",
      false,
      policy("Retain", "Delete"),
      { items: [{ ...item, deleteAt }] },
    ],
    [
      "bytes of a removed source that are removed",
      true,
      policy("Delete", "Retain"),
      { items: [{ ...item, deleteAt }] },
    ],
    [
      "the source without bytes, and omits items",
      false,
      retain,
      { items: [{ secretKey: "key", key: "a" }], itemsOmitted: 1 },
    ],
    [
      "another source, and omits items",
      true,
      retain,
      { items: [{ ...item, key: "b" }], itemsOmitted: 1 },
    ],
    [
      "the source twice, once with bytes",
      true,
      retain,
      {
        items: [
          { secretKey: "one", key: "a" },
          { ...item, latest: 1 },
        ],
      },
    ],
  ])("returns for a status that shows %s: %s", (_, expected, of, status) => {
    expect(showsServed(of, status, "a", never)).toBe(expected);
  });

  test("returns true for bytes that are removed and only the target, or another vault, shows", () => {
    const status = { items: [{ secretKey: "key", key: "a" }] };
    const other = { items: [{ secretKey: "key", key: "a", otherVault: true }] };
    for (const [of, expected] of [
      [policy("Retain", "Delete"), true],
      [retain, false],
    ] as const) {
      expect(showsServed(of, status, "a", () => true)).toBe(expected);
      expect(showsServed(of, other, "a", never)).toBe(expected);
    }
  });

  test("returns true for bytes that the target has, and no status shows yet", () => {
    for (const status of [{}, { items: [{ ...item, key: "b", latest: 1 }] }])
      expect(showsServed(retain, status, "a", () => true)).toBe(true);
  });
});

/** Returns a resource with a key of the source `db`. */
const following = (policies: Partial<SyncResource>, isOptional = false): SyncResource =>
  syncResource([syncItem("p", { source: "db", isOptional })], policies);

const never = (): boolean => false;

describe("removesWhenGone", () => {
  const inTarget = { secretKey: "p", key: "db", version: 1 };
  const withVersion = { items: [{ ...inTarget, deleteAt: "2026-11-21T12:00:00Z" }] };

  test.each<["Delete" | "Retain", "Delete" | "Retain", boolean[]]>([
    ["Delete", "Retain", [false, true]],
    ["Retain", "Delete", [true, false]],
    ["Retain", "Retain", [false, false]],
  ])(
    "follows the policies: whenRemoved %s, whenMissing %s",
    (whenRemoved, whenMissing, expected) => {
      const one = following({ whenRemoved, whenMissing });
      expect(
        [false, true].map((isDue) => removesWhenGone(one, withVersion, "db", isDue, never)),
      ).toEqual(expected);
      expect(
        removesWhenGone(
          following({ whenRemoved, whenMissing }, true),
          withVersion,
          "db",
          false,
          never,
        ),
      ).toBe(true);
    },
  );

  test.each<["Delete" | "Retain", "Delete" | "Retain", boolean]>([
    ["Delete", "Retain", true],
    ["Retain", "Delete", true],
    ["Retain", "Retain", false],
  ])(
    "counts both policies at an unknown deadline: %s, %s",
    (whenRemoved, whenMissing, expected) => {
      const one = following({ whenRemoved, whenMissing });
      expect(removesWhenGone(one, { items: [inTarget] }, "db", true, never)).toBe(expected);
    },
  );

  test("says no only if neither the status nor the claims of the target show bytes", () => {
    const one = following({ whenMissing: "Delete" });
    const removes = (status: SyncStatus, isClaimed = false): boolean =>
      removesWhenGone(one, status, "db", false, () => isClaimed);
    const of = (changes: object, key = "other"): SyncStatus => ({
      observedGeneration: one.generation,
      items: [{ secretKey: "p", key }],
      ...changes,
    });
    expect(removes(of({}, "db"))).toBe(false);
    expect(removes(of({}, "db"), true)).toBe(true);
    const otherVault = [{ secretKey: "p", key: "db", otherVault: true }];
    expect(removes(of({ items: otherVault }))).toBe(true);
    expect(removes(of({}))).toBe(false);
    expect(removes(of({}), true)).toBe(true);
    expect(removes(of({ itemsOmitted: 1 }))).toBe(true);
    expect(removes(of({ observedGeneration: 99 }))).toBe(true);
    expect(removes({})).toBe(true);
  });
});

test("reportedDeadline returns the deadline that a status shows of a source", () => {
  const shown = [
    { secretKey: "p", key: "db" },
    { secretKey: "q", key: "db", deleteAt: "2026-11-21T12:00:00Z" },
  ];
  expect(reportedDeadline({ items: shown }, "db")).toEqual(Date.UTC(2026, 10, 21, 12));
  expect(reportedDeadline({ items: shown }, "q")).toBeUndefined();
  expect(reportedDeadline({}, "db")).toBeUndefined();
});

test("reportedDeadline does not take the key of a file for a source", () => {
  const file = { key: "db", filename: "db.conf", deleteAt: "2026-11-21T12:00:00Z" };
  expect(reportedDeadline({ items: [file] }, "db")).toBeUndefined();
});

import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { type Reason, reasons } from "../api/reasons.ts";
import { fileStatus } from "../api/status.ts";
import { DEFAULT_NOTICE_MS } from "./expiry.ts";
import type { Resolution } from "./resolution.ts";
import { readStatus, earlierItem, type SyncStatus } from "./stored-status.ts";
import { nextStatus, type StatusInput, wasReady } from "./sync-status.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const EARLIER = "2026-11-01T00:00:00.000Z";
const TIMESTAMP = "2026-11-21T12:00:00.000Z";
const READY: ReadyCondition = {
  ready: true,
  reason: "Synced",
  message: "the target is in sync with the vault",
};
const a = syncItem("a");
const resource = syncResource([a]);
const found = (changes: Partial<ReturnType<typeof candidate>> = {}, version = 3): Resolution => ({
  state: "found",
  item: a,
  candidate: candidate(3, changes),
  version,
});

function report(changes: Partial<StatusInput> = {}): StatusInput {
  return {
    resource,
    readyCondition: READY,
    reconciling: undefined,
    effect: "none",
    verified: undefined,
    digest: undefined,
    stale: undefined,
    connection: "connection",
    forced: undefined,
    resolutions: [found()],
    versions: new Map([["a", 3]]),
    ofOtherVault: new Set(),
    unconfirmed: new Set(),
    certificates: new Map(),
    changed: false,
    now: NOW,
    ...changes,
  };
}

/** Returns the status as the next reconcile parses it. */
function next(before: SyncStatus, changes: Partial<StatusInput> = {}): SyncStatus {
  const status = nextStatus(before, report(changes));
  return readStatus("VaultSecret", JSON.parse(JSON.stringify(status)));
}
const types = (status: SyncStatus): string[] => (status.conditions ?? []).map(({ type }) => type);
const condition = (status: SyncStatus, type: string) =>
  status.conditions?.find((one) => one.type === type);
const synced = next({}, { changed: true });

test("nextStatus returns the complete first status of a resource that is in sync", () => {
  expect(nextStatus({}, report())).toStrictEqual({
    observedGeneration: 7,
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "Synced",
        message: "the target is in sync with the vault",
        observedGeneration: 7,
        lastTransitionTime: TIMESTAMP,
      },
    ],
    target: { kind: "Secret", name: "db" },
    connection: "connection",
    items: [{ secretKey: "a", key: "a", version: 3, latest: 3 }],
    syncedAt: TIMESTAMP,
  });
});

test("nextStatus names the items of a VaultFile after its fields", () => {
  const file = syncResource([a], {
    kind: "VaultFile",
    target: { kind: "ConfigMap", name: "web", type: undefined },
  });
  const status = nextStatus({}, report({ resource: file }));
  expect(status).toMatchObject({
    target: { kind: "ConfigMap", name: "web" },
    items: [{ key: "a", filename: "a", version: 3 }],
  });
  expect(fileStatus.parse(status)).toEqual(status);
});

describe("nextStatus condition Ready", () => {
  test("is True, False, or Unknown while suspended", () => {
    expect(condition(next({}), "Ready")?.status).toBe("True");
    expect(
      condition(next({}, { readyCondition: notReady("SourceMissing", "x") }), "Ready")?.status,
    ).toBe("False");
    expect(
      condition(next({}, { readyCondition: notReady("Suspended", "x") }), "Ready")?.status,
    ).toBe("Unknown");
  });

  test("keeps its status and generation if nothing new is known", () => {
    const later = next(synced, {
      readyCondition: undefined,
      resource: syncResource([a], { generation: 8 }),
      now: NOW + 60_000,
    });
    expect(condition(later, "Ready")).toEqual(condition(synced, "Ready"));
    expect(later.observedGeneration).toBe(7);
  });

  test("has the new generation after a failed reconcile", () => {
    const failed = next(synced, {
      readyCondition: notReady("AmbiguousName", "x"),
      resource: syncResource([a], { generation: 8 }),
    });
    expect(failed.observedGeneration).toBe(8);
    expect(condition(failed, "Ready")?.observedGeneration).toBe(8);
  });

  test("has the time of the last change of its status, not of its reason", () => {
    const later = { now: NOW + 60_000 };
    const failed = next(synced, { ...later, readyCondition: notReady("SourceMissing", "x") });
    expect(condition(failed, "Ready")?.lastTransitionTime).toBe("2026-11-21T12:01:00.000Z");
    const other = next(failed, {
      now: NOW + 120_000,
      readyCondition: notReady("AmbiguousName", "y"),
    });
    expect(condition(other, "Ready")).toMatchObject({
      reason: "AmbiguousName",
      lastTransitionTime: "2026-11-21T12:01:00.000Z",
    });
  });
});

describe("nextStatus condition Stalled", () => {
  test.each(Object.keys(reasons) as Reason[])(
    "accompanies Ready=False for %s exactly if only a user can resolve it",
    (reason) => {
      const status = next({}, { readyCondition: notReady(reason, "x") });
      expect(types(status).includes("Stalled")).toBe(reasons[reason].stalled);
    },
  );

  test("is removed once the resource is in sync", () => {
    const stalled = next({}, { readyCondition: notReady("AmbiguousName", "x") });
    expect(types(next(stalled))).toEqual(["Ready"]);
    expect(
      types(next({}, { readyCondition: { ready: true, reason: "TooLarge", message: "x" } })),
    ).toEqual(["Ready"]);
  });

  test("stays if nothing new is known", () => {
    const stalled = next({}, { readyCondition: notReady("AmbiguousName", "x") });
    expect(types(next(stalled, { readyCondition: undefined }))).toEqual(["Ready", "Stalled"]);
  });
});

describe("nextStatus conditions that exist only while true", () => {
  const reconciling = { reason: "VaultUnreachable", message: "timeout" } as const;

  test("Reconciling is set next to an unchanged Ready", () => {
    const status = next(synced, { readyCondition: undefined, reconciling });
    expect(condition(status, "Reconciling")).toMatchObject({ status: "True", ...reconciling });
    expect(condition(status, "Ready")?.status).toBe("True");
    expect(types(next(status))).toEqual(["Ready"]);
    expect(types(next(status, { readyCondition: undefined }))).toEqual(["Ready"]);
  });

  test("Stale contains the time of the last response, and ends with a reconcile that knows more", () => {
    const status = next(synced, {
      readyCondition: undefined,
      resolutions: undefined,
      stale: { since: Date.UTC(2026, 10, 20), reason: "AuthFailed" },
    });
    expect(condition(status, "Stale")).toMatchObject({ status: "True", reason: "AuthFailed" });
    expect(condition(status, "Stale")?.message).toContain("2026-11-20T00:00:00.000Z");
    const unknown = next(status, { readyCondition: undefined, resolutions: undefined });
    expect(unknown.conditions).toEqual(status.conditions);
    expect(types(next(status))).toEqual(["Ready"]);
  });

  test("UpdateAvailable is set only for a pinned version below the latest", () => {
    const pinned = syncItem("a", { source: "db", version: 2 });
    const update = (latest: number, item = pinned): SyncStatus =>
      next(
        {},
        { resolutions: [{ state: "found", item, candidate: candidate(latest), version: 2 }] },
      );
    expect(condition(update(3), "UpdateAvailable")?.message).toBe(
      "newer versions available for pinned items: db 2 → 3",
    );
    expect(types(update(2))).toEqual(["Ready"]);
    expect(types(update(3, syncItem("a")))).toEqual(["Ready"]);
  });

  test("ExpiringSoon is set from a week before the expiry, and after it", () => {
    const expiries = [NOW + DEFAULT_NOTICE_MS + 1, NOW + DEFAULT_NOTICE_MS, NOW - 1];
    const statuses = expiries.map((expiresAt) =>
      types(next({}, { resolutions: [found({ expiresAt })] })),
    );
    expect(statuses).toEqual([["Ready"], ["Ready", "ExpiringSoon"], ["Ready", "ExpiringSoon"]]);
  });

  test("a certificate is shown with its version, until the target has another one", () => {
    const [from, to] = [NOW - 1_000, NOW + 2_000];
    const certificates = new Map([["a", { from, to }]]);
    const shown = next({}, { certificates, changed: true });
    expect(shown.items?.[0]).toMatchObject({
      notBefore: new Date(from).toISOString(),
      notAfter: new Date(to).toISOString(),
    });
    expect(types(shown)).toEqual(["Ready"]);
    const kept = next(shown, { now: to - 1_000 });
    expect(kept.items?.[0]).toEqual(shown.items?.[0]);
    expect(condition(kept, "ExpiringSoon")?.message).toBe(
      `expires soon, or has expired: the certificate of a at ${new Date(to).toISOString()}`,
    );
    const ended = [
      next(kept, { versions: new Map([["a", 4]]), resolutions: [found({}, 4)] }),
      next(kept, { certificates: new Map([["a", undefined]]) }),
      next(kept, { connection: "another" }),
    ];
    for (const { items } of ended) expect(items?.[0]).not.toHaveProperty("notAfter");
  });

  test("conditions about items stay only while the list of the vault is unknown", () => {
    const expiring = next({}, { resolutions: [found({ expiresAt: NOW })] });
    expect(types(next(expiring, { readyCondition: undefined, resolutions: undefined }))).toContain(
      "ExpiringSoon",
    );
    expect(types(next(expiring))).toEqual(["Ready"]);
  });
});

test("Reconciling stays while the connection cannot be used", () => {
  const reconciling = { reason: "UnexpectedResponse", message: "a is not readable" } as const;
  const failing = next(synced, { readyCondition: undefined, reconciling });
  const nothingKnown = { readyCondition: undefined, resolutions: undefined };
  expect(types(failing)).toEqual(["Ready", "Reconciling"]);
  expect(
    types(next(failing, { ...nothingKnown, stale: { since: NOW, reason: "VaultUnreachable" } })),
  ).toEqual(["Ready", "Reconciling", "Stale"]);
  expect(types(next(failing, { ...nothingKnown, reconciling }))).toEqual(["Ready", "Reconciling"]);
  expect(types(next(failing))).toEqual(["Ready"]);
});

describe("nextStatus items", () => {
  test("contain deadlines and versions, and omit unknown fields", () => {
    const deadlines = { expiresAt: Date.UTC(2027, 0, 1), deleteAt: Date.UTC(2027, 1, 1) };
    expect(next({}, { resolutions: [found(deadlines)], versions: new Map() }).items).toEqual([
      {
        secretKey: "a",
        key: "a",
        latest: 3,
        expiresAt: "2027-01-01T00:00:00.000Z",
        deleteAt: "2027-02-01T00:00:00.000Z",
      },
    ]);
  });

  const unavailable: [Resolution, object][] = [
    [
      { state: "removed", item: a, deleteAt: Date.UTC(2026, 10, 20) },
      { deleteAt: "2026-11-20T00:00:00.000Z" },
    ],
    [{ state: "missing", item: a }, {}],
    [{ state: "ambiguous", item: a, owners: ["x", "y"] }, {}],
    [{ state: "no-version", item: a, candidate: candidate(3), version: 9 }, { latest: 3 }],
    [{ state: "regressed", item: a, candidate: candidate(2), syncedVersion: 3 }, { latest: 2 }],
  ];
  test.each(
    unavailable.map(([resolution, facts]) => [resolution.state, resolution, facts] as const),
  )("contain the known fields of an entry that is %s", (_, resolution, facts) => {
    const status = next(
      {},
      { resolutions: [resolution], readyCondition: notReady("SourceMissing", "x") },
    );
    expect(status.items).toEqual([{ secretKey: "a", key: "a", version: 3, ...facts }]);
  });

  test("omit deadlines outside the range of RFC 3339", () => {
    for (const at of [Date.UTC(12_000, 0), -8e15, 1e300, Number.NaN]) {
      const status = next({}, { resolutions: [found({ expiresAt: at, deleteAt: at })] });
      expect(status.items).toEqual([{ secretKey: "a", key: "a", version: 3, latest: 3 }]);
    }
  });

  test("change together with the connection that listed them", () => {
    const before = next({}, { connection: "one" });
    expect(next(before, { connection: "another" }).connection).toBe("another");
    expect(next(before, { connection: undefined, resolutions: undefined })).toMatchObject({
      connection: "one",
      items: before.items,
    });
  });

  test("list 64 entries and count the rest", () => {
    const many = (count: number): SyncStatus =>
      next(
        {},
        {
          resolutions: Array.from({ length: count }, (_, at) => ({
            ...found(),
            item: syncItem(`k${at}`),
          })),
        },
      );
    expect(many(64)).toMatchObject({ items: { length: 64 } });
    expect(many(64)).not.toHaveProperty("itemsOmitted");
    expect(many(256)).toMatchObject({ items: { length: 64 }, itemsOmitted: 192 });
    expect(next(many(256), { resolutions: undefined })).toMatchObject({
      items: { length: 64 },
      itemsOmitted: 192,
    });
    expect(next(many(256))).not.toHaveProperty("itemsOmitted");
  });
});

describe("nextStatus syncedAt", () => {
  test("is the time of the last change of the content", () => {
    const before = { ...synced, syncedAt: EARLIER };
    expect(next(before).syncedAt).toBe(EARLIER);
    expect(next(before, { readyCondition: notReady("SourceMissing", "x") }).syncedAt).toBe(EARLIER);
    expect(next(before, { changed: true }).syncedAt).toBe(TIMESTAMP);
  });

  test("is set when the resource is first in sync, and not before", () => {
    expect(next({}).syncedAt).toBe(TIMESTAMP);
    expect(next({}, { readyCondition: notReady("SourceMissing", "x") })).not.toHaveProperty(
      "syncedAt",
    );
    expect(next({}, { readyCondition: undefined })).not.toHaveProperty("syncedAt");
  });
});

describe("earlierItem and wasReady", () => {
  const remembered = next({}, { resolutions: [found({ deleteAt: NOW + 5 })] });

  test("earlierItem returns the deadline of the same source under the same key", () => {
    expect(earlierItem(remembered, a)?.deleteAt).toBe(NOW + 5);
    expect(earlierItem(remembered, syncItem("a", { source: "other" }))?.deleteAt).toBeUndefined();
    expect(earlierItem(remembered, syncItem("b", { source: "a" }))?.deleteAt).toBeUndefined();
    expect(earlierItem(synced, a)?.deleteAt).toBeUndefined();
    expect(earlierItem({}, a)?.deleteAt).toBeUndefined();
  });

  test("earlierItem returns the deadline of a file", () => {
    const item = { key: "app.conf", filename: "shop/app.conf", deleteAt: TIMESTAMP };
    expect(
      earlierItem({ items: [item] }, syncItem("app.conf", { source: "shop/app.conf" }))?.deleteAt,
    ).toBe(NOW);
    expect(earlierItem({ items: [item] }, syncItem("app.conf"))?.deleteAt).toBeUndefined();
  });

  test("earlierItem ignores a malformed deadline, so that nothing is deleted because of it", () => {
    expect(
      earlierItem({ items: [{ secretKey: "a", key: "a", deleteAt: "yesterday" }] }, a)?.deleteAt,
    ).toBeUndefined();
  });

  test("wasReady returns true only for a Ready status of the same generation", () => {
    expect(wasReady(synced, 7)).toBe(true);
    expect(wasReady(synced, 8)).toBe(false);
    expect(wasReady(next(synced, { readyCondition: notReady("SourceMissing", "x") }), 7)).toBe(
      false,
    );
    expect(wasReady({}, 0)).toBe(false);
  });
});

test.each([
  undefined,
  null,
  "text",
  7,
  [],
  { conditions: "none" },
  { items: [{ secretKey: 1 }] },
  { observedGeneration: 1.5 },
])("readStatus returns an empty status for malformed input: %j", (status) => {
  expect(readStatus("VaultSecret", status)).toEqual({});
  expect(readStatus("VaultFile", status)).toEqual({});
});

import { expect, test } from "vitest";
import type { Reason } from "../../api/reasons.ts";
import { notReady } from "../../sync/ready-condition.ts";
import { nextFanOutStatus, type Part, readFanOutStatus } from "./fan-out-status.ts";

const TARGET = { kind: "Secret", name: "registry", type: "Opaque" } as const;
const RESOURCE = {
  suspend: false,
  generation: 2,
  forceSync: undefined,
  target: TARGET,
  whenRemoved: "Delete",
} as const;
const time = "2026-11-29T00:00:00.000Z";
const now = Date.parse(time);

/** A namespace whose target is in sync, or not for this reason, with more of its status. */
function part(namespace: string, reason: Reason = "Synced", more: object = {}): Part {
  const status = reason === "Synced" ? "True" : reason === "Suspended" ? "Unknown" : "False";
  const message = `${reason} in ${namespace}`;
  const condition = { type: "Ready", status, reason, message, lastTransitionTime: time } as const;
  return { namespace, status: { observedGeneration: 2, conditions: [condition], ...more } };
}

const input = (
  parts: readonly Part[],
  changes: object = {},
): Parameters<typeof nextFanOutStatus>[1] => ({
  resource: RESOURCE,
  invalid: undefined,
  parts,
  absent: [],
  now,
  ...changes,
});

interface Shown {
  readonly conditions?: readonly Record<string, unknown>[];
  readonly [field: string]: unknown;
}
const statusOf = (...of: Parameters<typeof input>): Shown =>
  nextFanOutStatus({}, input(...of)) as Shown;

const readyOf = ({ conditions = [] }: Shown): string => {
  const { status, reason, message } = conditions[0] ?? {};
  return `${String(status)} ${String(reason)}: ${String(message)}`;
};

test.each<[what: string, parts: readonly Part[], changes: object, ready: string]>([
  [
    "all in sync",
    [part("a"), part("b")],
    {},
    "True Synced: the targets of 2 namespaces are in sync with the vault",
  ],
  ["no namespace", [], {}, "True Synced: the spec selects no namespace"],
  [
    "a name without a namespace",
    [],
    { absent: ["later"] },
    "True Synced: the spec selects no namespace; no namespace has the name later",
  ],
  [
    "one that fails",
    [part("a"), part("b", "SourceMissing")],
    {},
    "False SourceMissing: 1 of 2 namespaces not in sync; b: SourceMissing in b",
  ],
  [
    "two that fail: the one for a user",
    [part("a", "SourceMissing"), part("b", "TargetConflict")],
    {},
    "False TargetConflict: 2 of 2 namespaces not in sync; b: TargetConflict in b",
  ],
  [
    "one without access",
    [part("a"), part("b", "NamespaceNotAllowed")],
    {},
    "True Synced: the targets of 1 namespace are in sync with the vault; the connection does not allow 1 namespace, such as b",
  ],
  [
    "none with access",
    [part("b", "NamespaceNotAllowed")],
    {},
    "False NamespaceNotAllowed: b: NamespaceNotAllowed in b",
  ],
  [
    "one not reconciled",
    [part("a"), { namespace: "b", status: undefined }],
    {},
    "False Progressing: 1 of 2 namespaces not synced yet",
  ],
  [
    "one of an earlier spec",
    [part("a"), part("b", "Synced", { observedGeneration: 1 })],
    {},
    "False Progressing: 1 of 2 namespaces not synced yet",
  ],
  [
    "an invalid spec",
    [part("a")],
    { invalid: notReady("InvalidSpec", "spec.data: wrong") },
    "False InvalidSpec: spec.data: wrong",
  ],
])("a resource with %s says so in Ready", (_, parts, changes, ready) => {
  expect(readyOf(statusOf(parts, changes))).toBe(ready);
});

/** A namespace that a new process has tried only, because its vault failed. */
function retried(namespace: string): Part {
  const condition = {
    type: "Reconciling",
    status: "True",
    reason: "VaultUnreachable",
    message: "size mismatch",
    lastTransitionTime: time,
  } as const;
  return { namespace, status: { observedGeneration: 2, conditions: [condition] } };
}

// It was counted as in sync: the resource was Ready while its target had other keys.
test("a namespace that a new process could not read does not change Ready", () => {
  const failed = readFanOutStatus(
    "ClusterVaultSecret",
    statusOf([part("a", "InvalidContent"), part("b")]),
  );
  const next = nextFanOutStatus(failed, input([retried("a"), part("b")])) as Shown;
  expect(readyOf(next)).toBe(
    "False InvalidContent: 1 of 2 namespaces not in sync; a: InvalidContent in a",
  );
  expect(next["namespaces"]).toEqual({ selected: 2, ready: 1, failed: 0 });
});

test("a namespace that was never in sync and is retried is not synced yet", () => {
  const before = readFanOutStatus("ClusterVaultSecret", statusOf([part("b")]));
  const next = nextFanOutStatus(before, input([retried("a"), part("b")])) as Shown;
  expect(readyOf(next)).toBe("False Progressing: 1 of 2 namespaces not synced yet");
  const later = readFanOutStatus("ClusterVaultSecret", next);
  expect(readyOf(nextFanOutStatus(later, input([retried("a"), part("b")])) as Shown)).toBe(
    readyOf(next),
  );
});

test("a suspended resource is Unknown, and stalled in no namespace", () => {
  const suspended = { ...RESOURCE, suspend: true };
  const status = statusOf([part("a", "Suspended")], { resource: suspended });
  expect(readyOf(status)).toMatch(/^Unknown Suspended/u);
  expect(status.conditions).toHaveLength(1);
});

test("a status lists the first 20 failures, and counts all", () => {
  const names = Array.from({ length: 25 }, (_, n) => `team-${String(n).padStart(2, "0")}`);
  const status = statusOf([part("a"), ...names.map((name) => part(name, "TargetConflict"))]);
  expect(status["namespaces"]).toEqual({ selected: 26, ready: 1, failed: 25 });
  expect(status["failures"]).toHaveLength(20);
  expect((status["failures"] as object[])[0]).toEqual({
    namespace: "team-00",
    reason: "TargetConflict",
    message: "TargetConflict in team-00",
  });
  expect(status.conditions?.map(({ type }) => type)).toEqual(["Ready", "Stalled"]);
});

test("conditions of one namespace are shown with its name", () => {
  const stale = {
    type: "Stale",
    status: "True",
    reason: "VaultUnreachable",
    message: "old",
    lastTransitionTime: time,
  };
  const one = part("b");
  const status = statusOf([
    part("a"),
    part("b", "Synced", { conditions: [...(one.status?.conditions ?? []), stale] }),
  ]);
  expect(status.conditions?.[1]).toMatchObject({ type: "Stale", message: "b: old" });
});

test("items and target are those that namespaces share, and stay while none says them", () => {
  const items = [{ secretKey: "password", key: "login", version: 3 }];
  const shared = { connection: "c", items, target: { kind: "Secret", name: "registry" } };
  const first = statusOf([part("a", "SourceMissing", { items: [] }), part("b", "Synced", shared)]);
  expect(first).toMatchObject({ connection: "c", items });
  expect(first["target"]).toBeUndefined();
  const all = statusOf([part("a", "Synced", shared), part("b", "Synced", shared)]);
  expect(all["target"]).toEqual(shared.target);
  const before = readFanOutStatus("ClusterVaultSecret", all);
  const later = nextFanOutStatus(before, input([{ namespace: "a", status: undefined }]));
  expect(later).toMatchObject({ ...shared });
});

test("the last change of a target in any namespace is shown, and stays", () => {
  const [early, late] = ["2026-11-28T23:00:00.000Z", "2026-11-28T23:30:00.000Z"];
  const parts = [early, late, early].map((syncedAt, at) => part(`n${at}`, "Synced", { syncedAt }));
  expect(statusOf(parts)["syncedAt"]).toBe(late);
  const later = nextFanOutStatus({ syncedAt: late }, input([part("a")]));
  expect(later).toMatchObject({ syncedAt: late });
});

test("a forced sync is echoed when the last namespace has synced", () => {
  const resource = { ...RESOURCE, forceSync: "now" };
  const echoed = part("a", "Synced", { lastForceSync: "now" });
  expect(statusOf([echoed, part("b")], { resource })["lastForceSync"]).toBeUndefined();
  expect(statusOf([echoed], { resource })["lastForceSync"]).toBe("now");
});

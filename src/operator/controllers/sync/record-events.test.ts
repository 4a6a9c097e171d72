import { describe, expect, test } from "vitest";
import type { EventRecord } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { notReady } from "../../sync/ready-condition.ts";
import { recordEvents } from "./record-events.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { type Report, reportOf } from "../../sync/report.ts";

const object: KubeObject = {
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultFile",
  metadata: { name: "web", namespace: "shop", uid: "u1" },
};
const ready = { ready: true, reason: "Synced", message: "fine" } as const;
const TIMESTAMP = "2026-11-21T12:00:00.000Z";
const conditionsOf = (status: "True" | "False" | "Unknown", reason: string) => [
  { type: "Ready", status, reason, message: "another", lastTransitionTime: TIMESTAMP },
];
const synced: SyncStatus = {
  syncedAt: TIMESTAMP,
  target: { kind: "ConfigMap", name: "web", resourceVersion: "7" },
  conditions: conditionsOf("True", "Synced"),
};
const report = (changes: Partial<Report>): Report =>
  reportOf(ready, { versions: new Map([["a", 3]]), ...changes });

const target = { kind: "ConfigMap", name: "web", type: undefined } as const;
const statusOf = ({ readyCondition: now }: Report): object => {
  const status = now?.reason === "Suspended" ? "Unknown" : now?.ready === true ? "True" : "False";
  return {
    conditions: now && [{ type: "Ready", status, reason: now.reason, message: now.message }],
  };
};

function recordedEvents(before: SyncStatus, changes: Partial<Report>, name = "web"): EventRecord[] {
  const events: EventRecord[] = [];
  const resource = { kind: "VaultFile", target: { ...target, name } } as SyncResource;
  const now = report(changes);
  recordEvents({ record: (event) => void events.push(event) }, object, resource, now, {
    before,
    now: statusOf(now),
  });
  return events;
}

const versions = (count: number) =>
  new Map(Array.from({ length: count }, (_, at) => [`k${at}`, at + 1]));

describe("recordEvents for a target", () => {
  test.each([
    ["created", "TargetRecreated"],
    ["updated", "TargetUpdated"],
    ["repaired", "TargetRepaired"],
    ["deleted", "TargetRemoved"],
  ] as const)("records a target that was %s as %s", (effect, reason) => {
    expect(recordedEvents(synced, { effect })).toEqual([
      expect.objectContaining({
        type: "Normal",
        reason,
        action: "Sync",
        namespace: "shop",
        name: "web",
        uid: "u1",
      }),
    ]);
  });

  test("records no event if nothing changed", () => {
    expect(recordedEvents(synced, { effect: "none" })).toEqual([]);
    expect(recordedEvents({}, { effect: "none" })).toEqual([]);
  });

  test("records the first creation once, also after a failure", () => {
    const failed = {
      ...synced,
      syncedAt: undefined,
      conditions: conditionsOf("False", "SourceMissing"),
    };
    for (const before of [{}, failed]) {
      const events = recordedEvents(before, { effect: "created" });
      expect(events).toEqual([
        expect.objectContaining({ type: "Normal", reason: "TargetCreated" }),
      ]);
      expect(events[0]?.note).toBe("created the ConfigMap web; versions: a=3");
    }
  });

  test("records a target of another name as moved, and not as a target that was missing", () => {
    for (const effect of ["created", "updated"] as const) {
      const [event, ...more] = recordedEvents(synced, { effect }, "other");
      expect(event?.reason).toBe("TargetMoved");
      expect(more).toEqual([]);
      expect(event?.note).toMatch(
        "wrote the ConfigMap other, which spec.target names now instead of the ConfigMap web",
      );
    }
  });

  test("adds up to five versions to the note", () => {
    expect(recordedEvents(synced, { effect: "updated", versions: versions(5) })[0]?.note).toMatch(
      /versions: k0=1, k1=2, k2=3, k3=4, k4=5$/,
    );
    expect(recordedEvents(synced, { effect: "updated", versions: versions(6) })[0]?.note).toMatch(
      /k4=5, …$/,
    );
    expect(recordedEvents(synced, { effect: "deleted", versions: new Map() })[0]?.note).toMatch(
      /nothing valid is left/,
    );
  });

  test("refers to the resource by the plural of its kind", () => {
    const [event] = recordedEvents(synced, { effect: "updated" });
    expect(event?.resource).toMatchObject({
      group: "vaultsync.dev",
      version: "v1alpha1",
      kind: "VaultFile",
      plural: "vaultfiles",
      namespaced: true,
    });
  });
});

describe("recordEvents for a failure", () => {
  test("records it once with its reason, and not while it lasts", () => {
    const readyCondition = notReady("SourceMissing", "db is missing");
    expect(recordedEvents(synced, { readyCondition })).toEqual([
      expect.objectContaining({
        type: "Warning",
        reason: "SourceMissing",
        action: "Sync",
        note: "db is missing",
      }),
    ]);
    const reported: SyncStatus = { conditions: conditionsOf("False", "SourceMissing") };
    expect(recordedEvents(reported, { readyCondition })).toEqual([]);
    expect(
      recordedEvents(reported, { readyCondition: notReady("AmbiguousName", "x") }),
    ).toHaveLength(1);
  });

  test("records a Warning for a new resource that fails", () => {
    expect(recordedEvents({}, { readyCondition: notReady("InvalidSpec", "x") })).toHaveLength(1);
  });

  test("records no event if Ready is unchanged or the resource is suspended", () => {
    expect(
      recordedEvents(synced, {
        readyCondition: undefined,
        reconciling: { reason: "VaultUnreachable", message: "x" },
      }),
    ).toEqual([]);
    expect(recordedEvents(synced, { readyCondition: notReady("Suspended", "x") })).toEqual([]);
  });

  test("records the recovery from a failure, and from no other state", () => {
    const failed = { ...synced, conditions: conditionsOf("False", "SourceMissing") };
    const [event, ...more] = recordedEvents(failed, {});
    expect(event?.type).toBe("Normal");
    expect(event?.reason).toBe("Recovered");
    expect(more).toEqual([]);
    expect(event?.note).toBe(`fine; it was not Ready since ${TIMESTAMP}: SourceMissing`);
    const others = [
      undefined,
      conditionsOf("Unknown", "Suspended"),
      conditionsOf("True", "Synced"),
    ];
    expect(others.flatMap((conditions) => recordedEvents({ ...synced, conditions }, {}))).toEqual(
      [],
    );
  });

  test("records nothing for a connection that is not ready: the connection has the event", () => {
    for (const before of [{}, synced])
      expect(
        recordedEvents(before, { readyCondition: notReady("ConnectionNotReady", "x") }),
      ).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import type { EventRecord } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import { notReady } from "../../sync/ready-condition.ts";
import { recordEvents } from "./record-events.ts";
import { type Report, reportOf } from "../../sync/report.ts";

const object: KubeObject = {
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultFile",
  metadata: { name: "web", namespace: "shop", uid: "u1" },
};
const ready = { ready: true, reason: "Synced", message: "fine" } as const;
const TIMESTAMP = "2026-11-21T12:00:00.000Z";
const synced: SyncStatus = {
  syncedAt: TIMESTAMP,
  conditions: [{ type: "Ready", status: "True", reason: "Synced", message: "fine", lastTransitionTime: TIMESTAMP }],
};
const report = (changes: Partial<Report>): Report => reportOf(ready, { versions: new Map([["a", 3]]), ...changes });

function recordedEvents(before: SyncStatus, changes: Partial<Report>): EventRecord[] {
  const events: EventRecord[] = [];
  recordEvents({ record: (event) => void events.push(event) }, object, before, report(changes));
  return events;
}

const versions = (count: number) => new Map(Array.from({ length: count }, (_, at) => [`k${at}`, at + 1]));

describe("recordEvents for a target", () => {
  test.each([
    ["created", "TargetRecreated"],
    ["updated", "TargetUpdated"],
    ["repaired", "TargetRepaired"],
    ["deleted", "TargetRemoved"],
  ] as const)("records a target that was %s as %s", (effect, reason) => {
    expect(recordedEvents(synced, { effect })).toEqual([
      expect.objectContaining({ type: "Normal", reason, action: "Sync", namespace: "shop", name: "web", uid: "u1" }),
    ]);
  });

  test("records no event if nothing changed or on first creation", () => {
    expect(recordedEvents(synced, { effect: "none" })).toEqual([]);
    expect(recordedEvents({}, { effect: "created" })).toEqual([]);
    expect(recordedEvents({}, { effect: "updated" })).toHaveLength(1);
  });

  test("adds up to five versions to the note", () => {
    expect(recordedEvents(synced, { effect: "updated", versions: versions(5) })[0]?.note).toMatch(
      /versions: k0=1, k1=2, k2=3, k3=4, k4=5$/,
    );
    expect(recordedEvents(synced, { effect: "updated", versions: versions(6) })[0]?.note).toMatch(/k4=5, …$/);
    expect(recordedEvents(synced, { effect: "deleted", versions: new Map() })[0]?.note).toMatch(/at its delete_time$/);
  });

  test("refers to the resource by the plural of its kind", () => {
    const [event] = recordedEvents(synced, { effect: "updated" });
    expect(event?.resource).toEqual({
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
      expect.objectContaining({ type: "Warning", reason: "SourceMissing", action: "Sync", note: "db is missing" }),
    ]);
    const reported: SyncStatus = {
      conditions: [
        { type: "Ready", status: "False", reason: "SourceMissing", message: "another", lastTransitionTime: TIMESTAMP },
      ],
    };
    expect(recordedEvents(reported, { readyCondition })).toEqual([]);
    expect(recordedEvents(reported, { readyCondition: notReady("AmbiguousName", "x") })).toHaveLength(1);
  });

  test("records a Warning for a new resource that fails", () => {
    expect(recordedEvents({}, { readyCondition: notReady("InvalidSpec", "x") })).toHaveLength(1);
  });

  test("records no event if Ready is unchanged or the resource is suspended", () => {
    expect(
      recordedEvents(synced, { readyCondition: undefined, reconciling: { reason: "VaultUnreachable", message: "x" } }),
    ).toEqual([]);
    expect(recordedEvents(synced, { readyCondition: notReady("Suspended", "x") })).toEqual([]);
  });
});

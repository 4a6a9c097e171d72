import { describe, expect, test } from "vitest";
import type { EventRecord } from "../../kube/events.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncStatus } from "../../sync/sync-status.ts";
import { notReady } from "../../sync/ready-condition.ts";
import { recordEvents } from "./record-events.ts";
import { type Outcome, unchangedOutcome } from "./outcome.ts";

const object: KubeObject = {
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultFile",
  metadata: { name: "web", namespace: "shop", uid: "u1" },
};
const ready = { ready: true, reason: "Synced", message: "fine" } as const;
const MOMENT = "2026-11-21T12:00:00.000Z";
const synced: SyncStatus = {
  syncedAt: MOMENT,
  conditions: [{ type: "Ready", status: "True", reason: "Synced", message: "fine", lastTransitionTime: MOMENT }],
};
const outcome = (changes: Partial<Outcome>): Outcome => ({ ...unchangedOutcome(ready, new Map([["a", 3]])), ...changes });

function announced(before: SyncStatus, changes: Partial<Outcome>): EventRecord[] {
  const events: EventRecord[] = [];
  recordEvents({ record: (event) => void events.push(event) }, object, before, outcome(changes));
  return events;
}

const versions = (count: number) => new Map(Array.from({ length: count }, (_, at) => [`k${at}`, at + 1]));

describe("what happened to a target", () => {
  test.each([
    ["created", "TargetRecreated"],
    ["updated", "TargetUpdated"],
    ["repaired", "TargetRepaired"],
    ["deleted", "TargetRemoved"],
  ] as const)("%s: %s", (effect, reason) => {
    expect(announced(synced, { effect })).toEqual([
      expect.objectContaining({ type: "Normal", reason, action: "Sync", namespace: "shop", name: "web", uid: "u1" }),
    ]);
  });

  test("nothing, is no event, and neither is its first creation", () => {
    expect(announced(synced, { effect: "none" })).toEqual([]);
    expect(announced({}, { effect: "created" })).toEqual([]);
  });

  test("is told with the versions, five of them at most", () => {
    expect(announced(synced, { effect: "updated", versions: versions(5) })[0]?.note).toMatch(
      /versions: k0=1, k1=2, k2=3, k3=4, k4=5$/,
    );
    expect(announced(synced, { effect: "updated", versions: versions(6) })[0]?.note).toMatch(/k4=5, …$/);
    expect(announced(synced, { effect: "deleted", versions: new Map() })[0]?.note).not.toContain("versions");
  });

  test("is about the resource, by its kind's own collection", () => {
    const [event] = announced(synced, { effect: "updated" });
    expect(event?.resource).toEqual({
      group: "vaultsync.dev",
      version: "v1alpha1",
      kind: "VaultFile",
      plural: "vaultfiles",
      namespaced: true,
    });
  });
});

describe("a failure", () => {
  test("is told once, with its reason, and not while it lasts", () => {
    const readyCondition = notReady("SourceMissing", "db is missing");
    expect(announced(synced, { readyCondition })).toEqual([
      expect.objectContaining({ type: "Warning", reason: "SourceMissing", note: "db is missing" }),
    ]);
    const told: SyncStatus = {
      conditions: [{ type: "Ready", status: "False", reason: "SourceMissing", message: "another", lastTransitionTime: MOMENT }],
    };
    expect(announced(told, { readyCondition })).toEqual([]);
    expect(announced(told, { readyCondition: notReady("AmbiguousName", "x") })).toHaveLength(1);
  });

  test("of a new resource is told", () => {
    expect(announced({}, { readyCondition: notReady("InvalidSpec", "x") })).toHaveLength(1);
  });

  test("that leaves Ready as it was is not told, nor is being suspended", () => {
    expect(announced(synced, { readyCondition: undefined, busy: { reason: "VaultUnreachable", message: "x" } })).toEqual([]);
    expect(announced(synced, { readyCondition: notReady("Suspended", "x") })).toEqual([]);
  });
});

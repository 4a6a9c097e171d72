import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { readStatus } from "../../sync/stored-status.ts";
import { PendingChanges, pendingSince, RECENT_MS } from "./pending-changes.ts";

const KEY = "VaultSecret/shop/db";
const CHANGED_AT = Date.UTC(2026, 10, 21, 12);

/** Returns a resource whose target changed `ms` after {@link CHANGED_AT}. */
function changed(ms = 0, converged?: "True" | "False", digest: string | undefined = "d") {
  const condition = {
    type: "Converged",
    status: converged,
    reason: "Any",
    message: "",
    lastTransitionTime: new Date(CHANGED_AT).toISOString(),
  };
  return resource({
    target: { kind: "Secret", name: "db", ...(digest !== "" && { digest }) },
    syncedAt: new Date(CHANGED_AT + ms).toISOString(),
    conditions: [
      { ...condition, type: "Ready", status: "True" },
      ...(converged ? [condition] : []),
    ],
  });
}

const resource = (status?: object): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { namespace: "shop", name: "db" },
  ...(status && { status }),
});

function scene() {
  const clock = new VirtualClock(CHANGED_AT);
  const pending = new PendingChanges(clock);
  const change = () => pending.in("shop").get(KEY);
  return { clock, pending, change };
}

describe("a change of a target is pending", () => {
  test("for an hour if the status does not show that pods used it", () => {
    const { pending } = scene();
    expect(pending.observe(KEY, changed(1 - RECENT_MS))).toBe(true);
    expect(pending.observe(KEY, changed(-RECENT_MS))).toBe(false);
    expect([...pending.namespaces()]).toEqual([]);
    // Of a clock that was ahead.
    expect(pending.observe(KEY, changed(10 * RECENT_MS))).toBe(true);
  });

  test("however old it is if the status shows that pods have older content", () => {
    const { pending, change } = scene();
    expect(pending.observe(KEY, changed(-10 * RECENT_MS, "False"))).toBe(true);
    expect(change()).toMatchObject({ isShown: true });
    expect(pending.observe(KEY, changed(-10 * RECENT_MS, "True"))).toBe(false);
    expect(change()).toBeUndefined();
  });

  test.each([
    ["no status", resource()],
    ["an empty status", resource({})],
    ["no time of a change", resource({ target: { kind: "Secret", name: "db", digest: "d" } })],
    ["a target that was never in sync", changed(0, undefined, "")],
    ["no target", resource({ syncedAt: new Date(CHANGED_AT).toISOString() })],
  ])("not if there is %s", (_, object) => {
    const { pending } = scene();
    expect(pending.observe(KEY, object)).toBe(false);
    expect([...pending.namespaces()]).toEqual([]);
  });

  test("since this process saw it first, and another change since then", async () => {
    const { clock, pending, change } = scene();
    const seenAt = clock.monotonic();
    pending.observe(KEY, changed());
    change()!.written = { at: 1, isCreation: false, seenAt };
    await clock.advance(1_000);
    expect(pending.observe(KEY, changed(0, "False"))).toBe(false);
    expect(change()).toMatchObject({ seenAt, isShown: true, written: { at: 1 } });
    expect(pending.observe(KEY, changed(500))).toBe(true);
    expect(change()).toEqual({
      syncedAt: new Date(CHANGED_AT + 500).toISOString(),
      seenAt: seenAt + 1_000,
      isShown: false,
    });
  });

  test("until the resource is deleted", () => {
    const { pending } = scene();
    const other = "VaultFile/shop/conf";
    for (const key of [KEY, other]) pending.observe(key, changed());
    expect(pending.observe(KEY, undefined)).toBe(false);
    expect([...pending.in("shop").keys()]).toEqual([other]);
    expect([...pending.namespaces()]).toEqual(["shop"]);
    pending.observe(other, undefined);
    pending.observe(other, undefined);
    expect([...pending.namespaces()]).toEqual([]);
  });
});

/** Observes a change, and records that no pod uses it. */
function unused() {
  const { pending, change } = scene();
  pending.observe(KEY, changed());
  pending.unused(KEY, change()!);
  expect(change()).toBeUndefined();
  return pending;
}

describe("a change that no pod uses", () => {
  test("is not pending again", () => {
    const pending = unused();
    expect(pending.observe(KEY, changed())).toBe(false);
    expect([...pending.namespaces()]).toEqual([]);
  });

  test("is pending again if another process shows that pods use it", () => {
    expect(unused().observe(KEY, changed(0, "False"))).toBe(true);
  });

  test("says nothing of the next change", () => {
    const pending = unused();
    expect(pending.observe(KEY, changed(1))).toBe(true);
    expect(pending.observe(KEY, changed())).toBe(true);
  });

  test("says nothing of a resource that was recreated", () => {
    const pending = unused();
    pending.observe(KEY, undefined);
    expect(pending.observe(KEY, changed())).toBe(true);
  });
});

describe("pendingSince", () => {
  const since = ({ status }: KubeObject) => pendingSince(readStatus("VaultSecret", status), NOW);
  const NOW = CHANGED_AT + RECENT_MS;

  test.each([
    ["within the last hour", changed(1)],
    ["longer ago that pods do not run", changed(-RECENT_MS, "False")],
  ])("returns the time of a change %s", (_, object) => {
    expect(since(object)).toBe(Object(object.status).syncedAt);
  });

  test.each([
    ["an hour ago", changed()],
    ["that all pods run", changed(1, "True")],
    ["of a target that was never in sync", changed(1, undefined, "")],
    ["of no target", resource({ syncedAt: new Date(NOW).toISOString() })],
    ["of no known time", resource({ target: { kind: "Secret", name: "db", digest: "d" } })],
  ])("returns no time of a change %s", (_, object) => {
    expect(since(object)).toBeUndefined();
  });
});

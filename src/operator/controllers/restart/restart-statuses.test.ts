import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import type { RestartStatus } from "../../api/status.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { RestartStatuses } from "./restart-statuses.ts";
import { forEachKind } from "../../sync/sync-key.ts";

const { signal } = new AbortController();
const entryOf = (name: string, time?: string): RestartStatus => ({
  kind: "Deployment",
  name,
  result: "RolledOut",
  ...(time !== undefined && { time }),
});

/** @param showing the VaultSecrets whose statuses have an entry of the workload web */
function scene(showing: readonly string[] = []) {
  const api = new InMemoryKubeApi();
  const store = new ObjectStore<KubeObject>();
  const put = (name: string, status?: object, deletionTimestamp?: string): void => {
    const value = api.put("vaultsecrets", {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata: {
        namespace: "shop",
        name,
        uid: name,
        ...(deletionTimestamp && { deletionTimestamp }),
      },
      ...(status && { status }),
    });
    store.set(`shop/${name}`, { uid: name, resourceVersion: "1", value });
  };
  const statuses = new RestartStatuses({
    api,
    resources: forEachKind((kind) => (kind === "VaultSecret" ? store : new ObjectStore())),
    index: { showing: () => new Set(showing) },
    clock: new VirtualClock(),
  });
  const statusOf = (name: string): unknown =>
    api.objects.get(`vaultsecrets/shop/${name}`)?.["status"];
  const shown = (name: string): string[] => {
    const { restarts = [] } = statusOf(name) as { restarts?: RestartStatus[] };
    return restarts.map((one) => `${one.name} ${one.result}`);
  };
  const show = (entry: RestartStatus | undefined, ...users: string[]): Promise<void> =>
    statuses.show(
      "Deployment/shop/web",
      new Set(users.map((user) => `VaultSecret/shop/${user}`)),
      entry && { result: entry.result, ...(entry.time !== undefined && { time: entry.time }) },
      signal,
    );
  return { put, show, shown, statusOf };
}

test("a status shows the newest restarts first, then workloads that were never restarted", async () => {
  const { put, show, shown } = scene();
  const restarts = [
    entryOf("never-b"),
    entryOf("old", "2026-11-20T00:00:00.000Z"),
    entryOf("new-b", "2026-11-22T00:00:00.000Z"),
    entryOf("never-a"),
    entryOf("new-a", "2026-11-22T00:00:00.000Z"),
  ];
  put("db", { restarts });
  await show(entryOf("web", "2026-11-21T00:00:00.000Z"), "db");
  expect(shown("db").map((one) => one.split(" ")[0])).toEqual([
    "new-a",
    "new-b",
    "web",
    "old",
    "never-a",
    "never-b",
  ]);
});

test("a status shows 32 restarts at most, the newest", async () => {
  const { put, show, shown } = scene();
  const restarts = Array.from({ length: 32 }, (_, index) =>
    entryOf(`w${index}`, `2026-11-20T00:00:${10 + index}.000Z`),
  );
  put("db", { restarts });
  await show(entryOf("web", "2026-11-21T00:00:00.000Z"), "db");
  expect(shown("db")).toHaveLength(32);
  expect(shown("db")[0]).toBe("web RolledOut");
  expect(shown("db")).not.toContain("w0 RolledOut");
});

test("an entry replaces the former one of its workload, and nothing else of the status", async () => {
  const { put, show, shown, statusOf } = scene();
  const other = { ...entryOf("web"), kind: "StatefulSet" };
  put("db", { observedGeneration: 3, restarts: [entryOf("web"), entryOf("api"), other] });
  await show({ ...entryOf("web"), result: "Failed" }, "db");
  expect(shown("db")).toEqual(["api RolledOut", "web Failed", "web RolledOut"]);
  expect(statusOf("db")).toMatchObject({ observedGeneration: 3 });
});

test("a resource that no longer restarts the workload loses the entry, and keeps the rest", async () => {
  const { put, show, statusOf, shown } = scene(["VaultSecret/shop/former", "VaultSecret/shop/db"]);
  put("former", { observedGeneration: 3, restarts: [entryOf("web")] });
  put("db", {});
  await show(entryOf("web"), "db");
  expect(statusOf("former")).toEqual({ observedGeneration: 3 });
  expect(shown("db")).toEqual(["web RolledOut"]);
  await show(undefined, "db");
  expect(statusOf("db")).toEqual({});
});

test("a resource without a status, that is being deleted, or that is gone, gets no entry", async () => {
  const { put, show, statusOf } = scene();
  put("new");
  put("deleting", {}, "2026-11-21T00:00:00Z");
  await show(entryOf("web"), "new", "deleting", "gone");
  expect(statusOf("new")).toBeUndefined();
  expect(statusOf("deleting")).toEqual({});
});

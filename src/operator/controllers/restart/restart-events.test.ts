import { expect, test } from "vitest";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { EventRecord } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { RestartEvents } from "./restart-events.ts";
import { entriesOf, forEachKind } from "../../sync/sync-key.ts";

const WEB = {
  kind: "Deployment",
  namespace: "shop",
  name: "web",
  objectKey: "shop/web",
} as const;

function storeOf(kind: string, name: string): ObjectStore<KubeObject> {
  const versions = { uid: `uid-of-${name}`, resourceVersion: "1" };
  const metadata = { namespace: "shop", name, ...versions };
  const store = new ObjectStore<KubeObject>();
  store.set(`shop/${name}`, { ...versions, value: { apiVersion: "", kind, metadata } });
  return store;
}

function recorder() {
  const records: EventRecord[] = [];
  const events = new RestartEvents({
    events: { record: (event) => records.push(event) },
    resources: forEachKind((kind) => storeOf(kind, entriesOf(kind) === "file" ? "conf" : "db")),
  });
  return { records, events };
}

test("the event of a restart names at most five resources, and counts the rest", () => {
  const { records, events } = recorder();
  const changed = ["a", "b", "c", "d", "e"];
  events.restarted(WEB, "uid", changed);
  events.restarted(WEB, "uid", [...changed, "f", "g"]);
  expect(records.map(({ note }) => note)).toEqual([
    "restarted: the content of a, b, c, d, e changed",
    "restarted: the content of a, b, c, d, e and 2 more changed",
  ]);
  expect(records[0]).toMatchObject({
    namespace: "shop",
    name: "web",
    uid: "uid",
    type: "Normal",
    reason: "WorkloadRestarted",
    action: "Restart",
  });
});

test("the event of an ended restart is of the workload, and of its resources that exist", () => {
  const { records, events } = recorder();
  const keys = ["VaultSecret/shop/db", "VaultFile/shop/conf", "VaultSecret/shop/gone"];
  events.ended(WEB, "uid", "Failed", "2 of 3 replicas", keys);
  const common = { type: "Warning", reason: "RestartFailed", action: "Restart", namespace: "shop" };
  expect(records.map(({ resource, ...event }) => ({ kind: resource.kind, ...event }))).toEqual([
    {
      ...common,
      kind: "Deployment",
      name: "web",
      uid: "uid",
      note: "the restart failed: 2 of 3 replicas",
    },
    {
      ...common,
      kind: "VaultSecret",
      name: "db",
      uid: "uid-of-db",
      note: "the restart of Deployment web failed: 2 of 3 replicas",
    },
    {
      ...common,
      kind: "VaultFile",
      name: "conf",
      uid: "uid-of-conf",
      note: "the restart of Deployment web failed: 2 of 3 replicas",
    },
  ]);
});

test.each([
  ["RolledOut", "Normal", "RestartRolledOut", "the restart rolled out"],
  ["TimedOut", "Warning", "RestartTimedOut", "the restart timed out"],
] as const)("the event of the result %s is %s %s", (result, type, reason, note) => {
  const { records, events } = recorder();
  events.ended(WEB, "uid", result, undefined, []);
  expect(records).toMatchObject([{ type, reason, note }]);
});

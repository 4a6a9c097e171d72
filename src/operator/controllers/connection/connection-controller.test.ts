import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { ObjectStore, type StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeObject, ObjectMeta } from "../../kube/resource.ts";
import { ConnectionController } from "./connection-controller.ts";
import type { ConnectionReconciler } from "./connection-reconciler.ts";
import { QueueLimits } from "../../runtime/queue-limits.ts";

const KEY = "shop/vault";

/** A status that this process does not know. */
const UNKNOWN = {};

function connection(changes: Partial<ObjectMeta> = {}, status?: object): KubeObject {
  const metadata = {
    name: "vault",
    namespace: "shop",
    uid: "uid-1",
    generation: 1,
    resourceVersion: "1",
    ...changes,
  };
  return { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultConnection", metadata, status };
}

const updated = (changes: Partial<ObjectMeta>, status?: object): StoreChange<KubeObject> => ({
  type: "updated",
  key: KEY,
  before: connection(),
  now: connection({ resourceVersion: "2", ...changes }, status),
});

/** A running controller, and the monotonic times at which it reconciled a key. */
function scene(resyncMs = 0) {
  const clock = new VirtualClock();
  const resources = new ObjectStore<KubeObject>();
  const reconciled: [string, number][] = [];
  const reported: string[] = [];
  const reconciler: Pick<ConnectionReconciler, "reconcile" | "statusRepairDelay"> = {
    reconcile: (key) => {
      reconciled.push([key, clock.monotonic()]);
      return Promise.resolve({ outcome: "done" });
    },
    statusRepairDelay: (key, before, now) =>
      key === KEY && before["status"] === undefined && now["status"] === UNKNOWN ? 0 : undefined,
  };
  const controller = new ConnectionController({
    reconciler: reconciler as ConnectionReconciler,
    limits: new QueueLimits(clock, 1),
    resyncMs,
    resources,
    events: { record: ({ reason, name }) => void reported.push(`${reason} ${name}`) },
    clock,
    random: () => 1,
    logger: silentLogger,
    observer: { reconciled: (name) => void reported.push(name) },
  });
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  return { clock, resources, controller, reconciled, reported, stop, running };
}

test.each<[string, StoreChange<KubeObject>, number]>([
  ["that was created", { type: "added", key: KEY, now: connection() }, 1],
  ["that was deleted", { type: "deleted", key: KEY, before: connection() }, 1],
  ["whose spec changed", updated({ generation: 2 }), 1],
  ["that was recreated", updated({ uid: "uid-2" }), 1],
  ["that is being deleted", updated({ deletionTimestamp: "2026-11-21T12:00:00Z" }), 1],
  ["whose status changed", updated({}, { users: 1 }), 0],
  ["whose status another process changed", updated({}, UNKNOWN), 1],
])(
  "a connection %s is reconciled immediately, unless it is the own write",
  async (_, change, times) => {
    const { clock, controller, reconciled, reported } = scene();
    controller.resourceChanged(change);
    await clock.advance(0);
    expect(reconciled).toEqual(Array.from({ length: times }, () => [KEY, 0]));
    expect(reported).toEqual(Array.from({ length: times }, () => "VaultConnection"));
  },
);

test("status changes within 250 ms share a reconcile, and so do changes of the users within 1 s", async () => {
  const { clock, controller, reconciled } = scene();
  for (let n = 0; n < 5; n += 1) {
    controller.usersChanged(KEY);
    await clock.advance(100);
  }
  await clock.advance(500);
  expect(reconciled).toEqual([[KEY, 1_000]]);
  controller.statusChanged(KEY);
  await clock.advance(100);
  controller.statusChanged(KEY);
  await clock.advance(1_000);
  expect(reconciled).toEqual([
    [KEY, 1_000],
    [KEY, 1_250],
  ]);
});

test("every existing connection is reconciled once per resync, until the controller is stopped", async () => {
  const { clock, resources, reconciled, stop, running } = scene(60_000);
  resources.set(KEY, { uid: "uid-1", resourceVersion: "1", value: connection() });
  await clock.advance(180_000);
  expect(reconciled.map(([key]) => key)).toEqual([KEY, KEY]);
  stop.abort();
  await clock.advance(15_000);
  await running;
  expect(clock.pending, "timers left").toBe(0);
});

test("a change of the circuit breaker is an event of an existing connection", () => {
  const { resources, controller, reported } = scene();
  controller.circuitChanged(KEY, true);
  resources.set(KEY, { uid: "uid-1", resourceVersion: "1", value: connection() });
  controller.circuitChanged(KEY, false);
  expect(reported).toEqual(["CircuitBreakerClosed vault"]);
});

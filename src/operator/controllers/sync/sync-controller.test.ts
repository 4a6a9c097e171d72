import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { ACCEPT_ANNOTATION, FORCE_SYNC_ANNOTATION } from "../../api/names.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { KubeObject, ObjectMeta } from "../../kube/resource.ts";
import { fileSource } from "./file-source.ts";
import { Propagations } from "./propagations.ts";
import { secretSource } from "./secret-source.ts";
import { SyncController } from "./sync-controller.ts";
import type { TargetRecords } from "./target-records.ts";
import { QueueLimits } from "../../runtime/queue-limits.ts";
import { entriesOf, forEachKind } from "../../sync/sync-key.ts";

interface Changes {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec?: object;
  readonly status?: object;
}

/** The VaultSecret `shop/db`, whose target has the same name. */
function vaultSecret({ metadata = {}, spec = {}, status }: Changes = {}): KubeObject {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: {
      name: "db",
      namespace: "shop",
      uid: "uid-1",
      generation: 1,
      resourceVersion: "1",
      ...metadata,
    },
    spec: {
      connectionRef: { name: "vault" },
      data: [{ secretKey: "p", remoteRef: { key: "password" } }],
      ...spec,
    },
    status,
  };
}

const changed = (...secrets: string[]) => ({ secrets: new Set(secrets), files: new Set<string>() });

const METADATA = {
  uid: "uid-2",
  resourceVersion: "7",
  labels: {},
  annotations: {},
  owners: [],
  deleting: false,
};

/** A status that this process does not know. */
const UNKNOWN = {};

/** A running controller of `resources`, and what it does. */
function scene(resyncMs = 0, workers = 4) {
  const clock = new VirtualClock();
  const log: string[] = [];
  /** The versions of targets that this process wrote. */
  const written = new Set<string>();
  /** The connections that have no list yet. */
  const starting = new Set<string>();
  const resources = forEachKind(() => new ObjectStore<KubeObject>());
  const controller = new SyncController({
    kinds: forEachKind((kind) => ({
      source: entriesOf(kind) === "file" ? fileSource : secretSource(),
      resources: resources[kind],
    })),
    reconciler: {
      reconcile: (key) => {
        log.push(key);
        return Promise.resolve({ outcome: "done" });
      },
      endReads: (connection) => void log.push(`end reads of ${connection}`),
      forget: (key) => void log.push(`forget ${key}`),
      statusRepairDelay: (key, before, now) =>
        key === DB && before["status"] === undefined && now["status"] === UNKNOWN ? 0 : undefined,
    },
    access: { of: () => () => true },
    connections: { isStarting: (connection) => starting.has(connection) },
    targets: {
      observe: (_, change) =>
        !written.has(("now" in change ? change.now : change.before).resourceVersion),
      stopReading: () => log.push("stop reading"),
      forget: (key) => log.push(`forget target ${key}`),
      lastMetadata: () => undefined,
      formers: () => [],
    } as Partial<TargetRecords> as TargetRecords,
    propagations: new Propagations(clock, () => undefined),
    onReferencesChange: (connection) => void log.push(`references of ${connection}`),
    limits: new QueueLimits(clock, workers),
    resyncMs,
    clock,
    random: () => 1,
    logger: silentLogger,
    observer: { reconciled: () => undefined },
  });
  const stop = new AbortController();
  void controller.run(stop.signal);
  /** Returns what happened since the last call. */
  const happened = async (): Promise<string[]> => {
    await clock.advance(0);
    return log.splice(0);
  };
  const add = async (
    object: KubeObject,
    kind: "VaultSecret" | "VaultFile" = "VaultSecret",
  ): Promise<string[]> => {
    const key = `shop/${object.metadata.name}`;
    resources[kind].set(key, { uid: object.metadata.uid, resourceVersion: "1", value: object });
    controller.resourceChanged(kind, { type: "added", key, now: object });
    return happened();
  };
  return { clock, controller, written, starting, add, happened };
}

const DB = "VaultSecret/shop/db";

test("a created resource is reconciled, and its connection learns what it refers to", async () => {
  expect(await scene().add(vaultSecret())).toEqual(["references of shop/vault", DB]);
});

test("a resource is reconciled once its connection has a list or has failed, or in five minutes", async () => {
  const { clock, controller, starting, add, happened } = scene();
  starting.add("shop/vault");
  expect(await add(vaultSecret())).toEqual(["references of shop/vault"]);
  controller.onConnectionStateChange("shop/vault");
  controller.targetChanged("Secret", { type: "deleted", key: "shop/db", before: METADATA });
  expect(await happened()).toEqual([]);
  starting.clear();
  controller.onConnectionStateChange("shop/vault");
  expect(await happened()).toEqual([DB]);
  starting.add("shop/vault");
  controller.onConnectionStateChange("shop/vault");
  await clock.advance(5 * 60_000);
  expect(await happened()).toEqual([DB]);
});

test.each<[string, Changes]>([
  ["is suspended", { spec: { suspend: true } }],
  ["requests a sync", { metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: "1" } } }],
  ["is invalid", { spec: { data: [] } }],
])("a resource that %s is reconciled before its connection has a list", async (_, changes) => {
  const { starting, add } = scene();
  starting.add("shop/vault");
  expect(await add(vaultSecret(changes))).toContain(DB);
});

test.each<[string, Changes, boolean]>([
  ["its spec", { metadata: { generation: 2 } }, true],
  ["its identity", { metadata: { uid: "uid-2" } }, true],
  ["what it accepts", { metadata: { annotations: { [ACCEPT_ANNOTATION]: "a@2" } } }, true],
  ["the request to sync", { metadata: { annotations: { [FORCE_SYNC_ANNOTATION]: "1" } } }, true],
  ["another annotation", { metadata: { annotations: { note: "1" } } }, false],
  ["its status", { metadata: { resourceVersion: "2" }, status: { items: [] } }, false],
  [
    "its status, by another process,",
    { metadata: { resourceVersion: "2" }, status: UNKNOWN },
    true,
  ],
])("a resource of which %s changed is reconciled: %#", async (_, changes, isReconciled) => {
  const { controller, add, happened } = scene();
  await add(vaultSecret());
  const change = {
    type: "updated",
    key: "shop/db",
    before: vaultSecret(),
    now: vaultSecret(changes),
  } as const;
  controller.resourceChanged("VaultSecret", change);
  expect(await happened()).toEqual(isReconciled ? [DB] : []);
});

test("connections learn when a resource moves from one to the other, or its names change", async () => {
  const { clock, controller, add, happened } = scene();
  await add(vaultSecret());
  const moved = vaultSecret({
    metadata: { generation: 2 },
    spec: { connectionRef: { name: "other" } },
  });
  controller.resourceChanged("VaultSecret", {
    type: "updated",
    key: "shop/db",
    before: vaultSecret(),
    now: moved,
  });
  expect(await happened()).toEqual(["references of shop/vault", "references of shop/other", DB]);
  await clock.advance(1_000);
  const spec = {
    connectionRef: { name: "other" },
    data: [{ secretKey: "p", remoteRef: { key: "user" } }],
  };
  const other = vaultSecret({ metadata: { generation: 3 }, spec });
  controller.resourceChanged("VaultSecret", {
    type: "updated",
    key: "shop/db",
    before: moved,
    now: other,
  });
  expect(await happened()).toEqual(["references of shop/other", DB]);
});

test("an invalid resource is reconciled and refers to nothing", async () => {
  const { controller, add, happened } = scene();
  expect(await add(vaultSecret({ spec: { data: [] } }))).toEqual([DB]);
  controller.onSnapshotChange("shop/vault", changed("password"), 0);
  expect(await happened()).toEqual([]);
});

test("a deleted resource is forgotten, and its target when no other resource has it", async () => {
  const { controller, add, happened } = scene();
  await add(vaultSecret());
  await add(vaultSecret({ metadata: { name: "db-2" }, spec: { target: { name: "db" } } }));
  controller.resourceChanged("VaultSecret", {
    type: "deleted",
    key: "shop/db",
    before: vaultSecret(),
  });
  expect(await happened()).toEqual([
    `forget ${DB}`,
    "references of shop/vault",
    "stop reading",
    DB,
  ]);
  controller.resourceChanged("VaultSecret", {
    type: "deleted",
    key: "shop/db-2",
    before: vaultSecret(),
  });
  expect(await happened()).toEqual([
    `forget ${DB}-2`,
    "references of shop/vault",
    "stop reading",
    "forget target Secret/shop/db",
    `${DB}-2`,
  ]);
});

test("only resources that refer to a changed name of the same connection and kind are reconciled", async () => {
  const { controller, add, happened } = scene();
  await add(vaultSecret());
  controller.onSnapshotChange("shop/vault", changed("user"), 0);
  controller.onSnapshotChange("shop/other", changed("password"), 0);
  controller.onSnapshotChange(
    "shop/vault",
    { secrets: new Set(), files: new Set(["password"]) },
    0,
  );
  expect(await happened()).toEqual([]);
  controller.onSnapshotChange("shop/vault", changed("password"), 0);
  expect(await happened()).toEqual([DB]);
  controller.onConnectionStateChange("shop/other");
  expect(await happened()).toEqual([]);
  controller.onConnectionStateChange("shop/vault");
  expect(await happened()).toEqual([DB]);
});

test("the resources of a target are reconciled when it drifts, or its write is not shown", async () => {
  const { controller, add, happened } = scene();
  await add(vaultSecret());
  controller.requeueTarget("Secret/shop/db", "background");
  expect(await happened()).toEqual([DB]);
  controller.requeueTarget("Secret/shop/other", "background");
  controller.targetChanged("Secret", { type: "deleted", key: "shop/db", before: METADATA });
  expect(await happened()).toEqual([DB]);
  controller.listEnded(DB);
  expect(await happened()).toEqual([DB]);
});

test("a write of this process reconciles the resources of the target only if there are several", async () => {
  const { controller, written, add, happened } = scene();
  await add(vaultSecret());
  const now = METADATA;
  written.add("7");
  controller.targetChanged("Secret", { type: "added", key: "shop/db", now });
  expect(await happened()).toEqual([]);
  const rival = { name: "rival", uid: "uid-3" };
  await add(vaultSecret({ metadata: rival, spec: { target: { name: "db" } } }));
  controller.targetChanged("Secret", { type: "added", key: "shop/db", now });
  expect(await happened()).toEqual([DB, "VaultSecret/shop/rival"]);
});

test("an object that a resource owns and does not name reconciles that resource", async () => {
  const { controller, written, add, happened } = scene();
  await add(vaultSecret());
  const former = { ...METADATA, annotations: { "vaultsync.dev/owner": "VaultSecret/db" } };
  controller.targetChanged("Secret", { type: "added", key: "shop/former", now: former });
  expect(await happened()).toEqual([DB]);
  controller.targetChanged("Secret", { type: "deleted", key: "shop/former", before: former });
  expect(await happened()).toEqual([DB]);
  written.add("7");
  controller.targetChanged("Secret", { type: "deleted", key: "shop/former", before: former });
  expect(await happened()).toEqual([]);
  controller.targetChanged("Secret", { type: "added", key: "team/former", now: former });
  const ofAnother = { ...METADATA, annotations: { "vaultsync.dev/owner": "VaultFile/db" } };
  controller.targetChanged("Secret", { type: "added", key: "shop/other", now: ofAnother });
  expect(await happened()).toEqual([]);
});

test("every resource of both kinds is reconciled once per resync", async () => {
  const { clock, add, happened } = scene(60_000);
  await add(vaultSecret());
  const file = {
    connectionRef: { name: "vault" },
    files: [{ filename: "app.conf" }],
    data: undefined,
  };
  expect(await add({ ...vaultSecret({ spec: file }), kind: "VaultFile" }, "VaultFile")).toContain(
    "VaultFile/shop/db",
  );
  await clock.advance(120_000);
  expect((await happened()).sort()).toEqual(["VaultFile/shop/db", DB]);
});

test("removalFactsOf returns the names and targets of the resources of a connection", async () => {
  const { controller, add } = scene();
  const facts = controller.removalFactsOf("shop/vault", "ops@example.com");
  expect(facts.hasReferences("secret")).toBe(false);
  expect([...facts.targetsOf("secret", "password")]).toEqual([]);
  await add(vaultSecret());
  await add(vaultSecret({ metadata: { name: "db-2" } }));
  expect(facts.hasReferences("secret")).toBe(true);
  expect(facts.hasReferences("file")).toBe(false);
  expect([...facts.targetsOf("secret", "password")]).toEqual([
    "Secret/shop/db",
    "Secret/shop/db-2",
  ]);
  expect(facts.isReferenced("secret", "password")).toBe(true);
  expect(facts.isReferenced("file", "password")).toBe(false);
  expect(facts.isReferenced("secret", "user")).toBe(false);
  expect(facts.wasServed("secret", "password")).toBe(false);
});

test("at the start, the resources that changed in the vault since their last sync come first", async () => {
  const { controller, add, happened } = scene(0, 1);
  const status = { observedGeneration: 1, syncedAt: "2026-11-22T10:00:00Z" };
  const named = (name: string, source: string): KubeObject =>
    vaultSecret({
      metadata: { name },
      spec: { data: [{ secretKey: "p", remoteRef: { key: source } }] },
      status,
    });
  for (const source of ["a", "b", "c"]) await add(named(source, source));
  const createdAt = Date.parse("2026-11-22T10:00:01Z");
  const record = {
    name: "c",
    owner: undefined,
    version: 2,
    shared: false,
    metadata: {},
    expiresAt: undefined,
    deleteAt: undefined,
  };
  const list = {
    secrets: (name: string) => (name === "c" ? [{ ...record, createdAt }] : []),
    file: () => undefined,
  };
  for (const source of ["a", "b", "c"]) {
    controller.resourceChanged("VaultSecret", {
      type: "added",
      key: `shop/${source}`,
      now: named(source, source),
    });
  }
  controller.onConnectionStateChange("shop/vault", list);
  // The only worker takes the first one before there is a list.
  expect((await happened()).slice(0, 3)).toEqual([
    "VaultSecret/shop/a",
    "VaultSecret/shop/c",
    "VaultSecret/shop/b",
  ]);
});

test("a resource that is edited all the time is reconciled every 4 s, and after the last edit", async () => {
  const { clock, controller, add, happened } = scene();
  await add(vaultSecret());
  let before = vaultSecret();
  const reconciledAt: number[] = [];
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    for (const key of await happened()) if (key === DB) reconciledAt.push(clock.monotonic());
  };
  for (let generation = 2; generation <= 2_002; generation += 1) {
    const now = vaultSecret({ metadata: { generation } });
    controller.resourceChanged("VaultSecret", { type: "updated", key: "shop/db", before, now });
    before = now;
    await pass(0);
    await pass(10);
  }
  for (let waited = 0; waited < 10_000; waited += 10) await pass(10);
  expect(reconciledAt).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 11_750, 15_750, 19_750, 23_750]);
});

import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { OWNER_ANNOTATION } from "../../../src/operator/api/names.ts";
import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import {
  CONFIG_MAPS,
  type ResourceDescriptor,
  SECRETS,
  type KubeObject,
} from "../../../src/operator/kube/resource.ts";
import { syncResource } from "../../lab/kube/sync-resource.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { ObjectStore } from "../../../src/operator/kube/cache/object-store.ts";
import {
  ownerIndex,
  targetMetadata,
} from "../../../src/operator/controllers/sync/target-metadata.ts";
import { TargetRecords } from "../../../src/operator/controllers/sync/target-records.ts";

const target = { namespace: "shop", name: "db" };

/** Starts an operator that has synced `db`. */
async function synced(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  return scene;
}

/** Fails each write of a status. */
function failsStatus(verb: string, { plural }: ResourceDescriptor): void {
  if (verb === "update" && plural === "vaultsecrets")
    throw new KubeError({ kind: "Unavailable", operation: "update status" });
}

/** Returns the names of all Secrets of the namespace but the credentials. */
const namesOf = ({ server }: SimulatedWorld): string[] =>
  server
    .all(SECRETS)
    .filter(({ metadata }) => metadata.namespace === "shop" && metadata.name !== "login")
    .map(({ metadata }) => metadata.name)
    .sort();

describe("the former target after a change of target.name", () => {
  test("is removed when the new one is written, also if an item was removed by the vault", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().lists({ name: "a" }, { name: "b", deleteAt: scene.clock.now() + 60_000 });
    scene.follow({ one: "a", other: "b" }, { target: { name: "before" } });
    await scene.settle();
    await scene.settle(60_000);
    scene.vault().lists({ name: "a" });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
    scene.follow({ one: "a", other: "b" }, { target: { name: "after" } });
    await scene.settle();
    expect(scene.target("after")?.data).toEqual({
      one: Buffer.from("vault a@1").toString("base64"),
    });
    expect(scene.target("before")).toBeUndefined();
    expect(scene.status().target?.name).toBe("after");
  });

  test("stays while the new one cannot be written", async () => {
    await using scene = await synced();
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: "shop", name: "taken" },
    });
    scene.follow({ password: "db" }, { target: { name: "taken" } });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("TargetConflict");
    expect(scene.target()).toBeDefined();
    expect(scene.status().target?.name).toBe("db");
  });

  test("stays while the API server rejects the new one", async () => {
    await using scene = await synced();
    scene.server.authorize = ({ verb }) => verb !== "create";
    scene.follow({ password: "db" }, { target: { name: "denied" } });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("TargetForbidden");
    expect(scene.target() !== undefined).toBe(true);
    expect(scene.target("denied")).toBeUndefined();
    scene.server.authorize = () => true;
    await scene.settle(60_000);
    expect(scene.target()).toBeUndefined();
    expect(scene.target("denied") !== undefined).toBe(true);
  });

  test("is reported as long as the API server denies to remove it", async () => {
    await using scene = await synced();
    scene.server.authorize = ({ verb }) => verb !== "delete";
    scene.follow({ password: "db" }, { target: { name: "after" } });
    await scene.settle();
    expect(scene.condition("Ready")).toMatchObject({
      reason: "TargetForbidden",
      message:
        "permission denied: delete secrets shop/db; add it to the RBAC rules of the operator's ServiceAccount",
    });
    expect(scene.target("after") !== undefined).toBe(true);
    expect(scene.status().target?.name).toBe("db");
    scene.server.authorize = () => true;
    await scene.settle(60_000);
    expect(scene.target()).toBeUndefined();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("stays if it belongs to another resource by now", async () => {
    await using scene = await synced();
    await scene.stop();
    const annotations = { [OWNER_ANNOTATION]: "VaultSecret/another" };
    scene.server.patch(SECRETS, target, { metadata: { annotations, ownerReferences: null } });
    scene.follow({ password: "db" }, { target: { name: "after" } });
    await scene.replace();
    expect(scene.target() !== undefined).toBe(true);
    expect(scene.target("after") !== undefined).toBe(true);
  });

  test("is removed with all others if the name changed twice while the status could not be written", async () => {
    await using scene = await synced();
    scene.network = { send: ({ verb, resource }) => failsStatus(verb, resource) };
    for (const name of ["second", "third"]) {
      scene.follow({ password: "db" }, { target: { name } });
      await scene.settle();
      expect(scene.target(name)).toBeDefined();
    }
    scene.network = {};
    await scene.settle(60_000);
    expect(namesOf(scene)).toEqual(["third"]);
    expect(scene.status().target?.name).toBe("third");
  });

  test("is removed with all others if a process that ended had not written its status", async () => {
    await using scene = await synced();
    scene.network = { send: ({ verb, resource }) => failsStatus(verb, resource) };
    scene.follow({ password: "db" }, { target: { name: "second" } });
    await scene.settle();
    await scene.stop();
    scene.network = {};
    scene.vault().lists({ name: "db", version: 2 });
    scene.follow({ password: "db" }, { target: { name: "third" } });
    await scene.replace();
    expect(namesOf(scene)).toEqual(["third"]);
  });

  test("is removed when the watch shows it after the new one was written", async () => {
    await using scene = await synced();
    const { metadata, ...rest } = scene.server.get(SECRETS, target);
    const { uid: _, resourceVersion: __, ...copied } = metadata;
    scene.server.create(SECRETS, { ...rest, metadata: { ...copied, name: "late" } });
    await scene.settle();
    expect(namesOf(scene)).toEqual(["db"]);
  });

  test("is removed when the vault removed all sources, although no new one is written", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().lists({ name: "db", deleteAt: scene.clock.now() + 60_000 });
    scene.follow({ password: "db" });
    await scene.settle();
    await scene.stop();
    scene.follow({ password: "db" }, { target: { name: "after" } });
    await scene.clock.advance(61_000);
    scene.vault().lists();
    await scene.replace();
    expect(namesOf(scene)).toEqual([]);
    expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
  });

  test("is kept if the resource does not control it: it was created with the policy Orphan", async () => {
    await using scene = await SimulatedWorld.following(
      [{ name: "db" }],
      { password: "db" },
      { target: { creationPolicy: "Orphan" } },
    );
    scene.follow({ password: "db" }, { target: { name: "after" } });
    await scene.settle();
    expect(namesOf(scene)).toEqual(["after", "db"]);
    expect(scene.target()?.metadata.labels).toBeUndefined();
    expect(scene.target()?.metadata.annotations).toBeUndefined();
  });

  test("is not removed later when the policy Orphan becomes Owner", async () => {
    await using scene = await synced();
    scene.follow({ password: "db" }, { target: { creationPolicy: "Orphan", name: "after" } });
    await scene.settle();
    scene.follow({ password: "db" }, { target: { name: "after" } });
    await scene.replace();
    expect(namesOf(scene)).toEqual(["after", "db"]);
  });

  test("costs no request if it does not exist any more", async () => {
    await using scene = await synced();
    await scene.stop();
    scene.deleteTarget();
    scene.follow({ password: "db" }, { target: { name: "after" } });
    scene.takeRequests();
    await scene.replace();
    expect(scene.takeRequests()).toEqual(["create secrets after", "update vaultsecrets db"]);
  });

  test("is released under the policy Orphan once", async () => {
    await using scene = await SimulatedWorld.shop("db");
    scene.follow(
      { password: "db" },
      { target: { creationPolicy: "Orphan", labels: { team: "shop" } } },
    );
    await scene.settle();
    const ownerReferences = [
      { apiVersion: "v1", kind: "ConfigMap", name: "app", uid: "uid-of-app" },
    ];
    scene.server.patch(SECRETS, target, { metadata: { ownerReferences } });
    await scene.settle();
    scene.takeRequests();
    scene.follow({ password: "db" }, { target: { creationPolicy: "Orphan", name: "after" } });
    await scene.settle();
    const released = ["get secrets db", "patch secrets db"];
    expect(scene.takeRequests()).toEqual([
      "create secrets after",
      ...released,
      "update vaultsecrets db",
    ]);
    expect(scene.target()?.metadata).toMatchObject({ labels: { team: "shop" }, ownerReferences });
    expect(scene.target()?.metadata.annotations).toBeUndefined();
    await scene.replace();
    expect(scene.takeRequests()).toEqual([]);
  });

  test("is released under the policy Orphan, and keeps its other owners", async () => {
    await using scene = await synced();
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "app", uid: "uid-of-app" };
    const own = scene.target()?.metadata.ownerReferences ?? [];
    scene.server.patch(SECRETS, target, { metadata: { ownerReferences: [...own, other] } });
    await scene.settle();
    scene.follow({ password: "db" }, { target: { creationPolicy: "Orphan", name: "after" } });
    await scene.settle();
    expect(scene.target()?.metadata.ownerReferences).toEqual([other]);
    expect(scene.target("after")).toBeDefined();
  });
});

/** Returns the kinds of the objects that have the name of the target. */
const kindsOf = ({ server }: SimulatedWorld): string[] =>
  [CONFIG_MAPS, SECRETS]
    .filter((resource) => server.find(resource, target))
    .map(({ kind }) => kind);

describe("the former target after a change of target.kind", () => {
  test.each([
    ["ConfigMap", "Secret"],
    ["Secret", "ConfigMap"],
  ])("is removed, a %s in favor of a %s", async (former, latter) => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().uploads("app.conf");
    const spec = { connectionRef: { name: "vault" }, files: [{ filename: "app.conf" }] };
    scene.put(
      vaultFileKind,
      { namespace: "shop", name: "db" },
      { ...spec, target: { kind: former } },
    );
    await scene.settle();
    expect(kindsOf(scene)).toEqual([former]);
    scene.put(
      vaultFileKind,
      { namespace: "shop", name: "db" },
      { ...spec, target: { kind: latter } },
    );
    await scene.settle();
    expect(kindsOf(scene)).toEqual([latter]);
  });
});

const resource = syncResource([]);

const owned = (name: string, changes: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace: "shop",
    uid: `uid-of-${name}`,
    resourceVersion: "5",
    labels: { "app.kubernetes.io/managed-by": "vaultsync" },
    annotations: { "vaultsync.dev/owner": "VaultSecret/db" },
    ...changes,
  },
});
/**
 * Returns the records of a store with these objects, and the names of the former targets of a
 * resource.
 */
function stored(...objects: KubeObject[]) {
  const stores = { Secret: new ObjectStore(ownerIndex), ConfigMap: new ObjectStore(ownerIndex) };
  for (const one of objects) {
    const { namespace, name, uid, resourceVersion } = one.metadata;
    stores.Secret.set(`${namespace}/${name}`, { uid, resourceVersion, value: targetMetadata(one) });
  }
  const watched = { Secret: { store: stores.Secret }, ConfigMap: { store: stores.ConfigMap } };
  const records = new TargetRecords({
    watched,
    clock: new VirtualClock(),
    requeue: () => undefined,
  });
  const formersOf = (of = resource): string[] =>
    records.formers(of).map(({ former }) => former.target.name);
  return { records, formersOf };
}

describe("TargetRecords.formers", () => {
  const elsewhere = syncResource([], {
    target: { kind: "Secret", name: "after", type: undefined },
  });

  test("are all objects of the resource but its target", () => {
    const { formersOf } = stored(owned("db"), owned("one"), owned("after"));
    expect(formersOf()).toEqual(["one", "after"]);
    expect(formersOf(elsewhere)).toEqual(["db", "one"]);
  });

  test("include the Secret of the name if the target is a ConfigMap", () => {
    const { formersOf } = stored(owned("db"));
    expect(
      formersOf(syncResource([], { target: { kind: "ConfigMap", name: "db", type: undefined } })),
    ).toEqual(["db"]);
  });

  test("are none of another resource, namespace or state", () => {
    const other = owned("theirs", { annotations: { "vaultsync.dev/owner": "VaultSecret/other" } });
    const deleting = owned("deleting", { deletionTimestamp: "2026-11-21T00:00:00Z" });
    const { formersOf } = stored(
      other,
      deleting,
      owned("one", { namespace: "team" }),
      owned("released", { labels: {} }),
    );
    expect(formersOf()).toEqual([]);
  });

  test("are not those that this process deleted and the watch still shows", () => {
    const { records, formersOf } = stored(owned("one"));
    records.recordDelete(
      syncResource([], { target: { kind: "Secret", name: "one", type: undefined } }),
      "uid-of-one",
    );
    expect(formersOf()).toEqual([]);
  });
});

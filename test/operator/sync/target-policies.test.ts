import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { METADATA_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const ref = { namespace: "shop", name: "db" };
const data = { password: "db" };

/** Starts an operator that has created the target of `db` with these policies. */
async function created(target: object): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "db" }], data, { target });
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  return scene;
}

async function respecified(scene: SimulatedWorld, target: object): Promise<void> {
  scene.follow(data, { target });
  await scene.settle();
}

const ownersOf = (scene: SimulatedWorld): string[] =>
  (scene.target()?.metadata.ownerReferences ?? []).map(
    ({ kind, name, controller }) => `${kind}/${name} ${controller}`,
  );

describe("creationPolicy", () => {
  test("Orphan creates a target without an owner, and a restart neither reads nor writes it", async () => {
    await using scene = await created({ creationPolicy: "Orphan" });
    expect(ownersOf(scene)).toEqual([]);
    scene.takeRequests();
    await scene.replace();
    expect(scene.takeRequests()).toEqual([]);
  });

  test("a change between Owner and Orphan changes the owner of the target, once", async () => {
    await using scene = await created({});
    expect(ownersOf(scene)).toEqual(["VaultSecret/db true"]);
    scene.takeRequests();
    await respecified(scene, { creationPolicy: "Orphan" });
    expect(ownersOf(scene)).toEqual([]);
    expect(scene.takeRequests()).toEqual([
      "get secrets db",
      "update secrets db",
      "update vaultsecrets db",
    ]);
    await respecified(scene, { creationPolicy: "Owner" });
    expect(ownersOf(scene)).toEqual(["VaultSecret/db true"]);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("Orphan repairs an owner that another writer sets", async () => {
    await using scene = await created({ creationPolicy: "Orphan" });
    const owner = {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      name: "db",
      uid: scene.resource().metadata.uid,
    };
    scene.server.patch(SECRETS, ref, {
      metadata: { ownerReferences: [{ ...owner, controller: true }] },
    });
    await scene.settle();
    expect(ownersOf(scene)).toEqual([]);
  });

  test("Orphan keeps the former target when the resource names another one, Owner removes it", async () => {
    await using scene = await created({ creationPolicy: "Orphan" });
    await respecified(scene, { creationPolicy: "Orphan", name: "second" });
    expect(
      [scene.target("db"), scene.target("second")].map((target) => target !== undefined),
    ).toEqual([true, true]);
    await respecified(scene, { name: "second" });
    await respecified(scene, { name: "third" });
    expect(
      [scene.target("second"), scene.target("third")].map((target) => target !== undefined),
    ).toEqual([false, true]);
  });

  test("a change to Orphan together with the name of the target releases the former target", async () => {
    await using scene = await created({});
    await respecified(scene, { creationPolicy: "Orphan", name: "other" });
    expect(scene.target()?.data).toBeDefined();
    expect(ownersOf(scene)).toEqual([]);
  });

  test("a resource that was deleted and recreated continues with its orphan", async () => {
    await using scene = await created({ creationPolicy: "Orphan" });
    scene.server.delete(vaultSecretKind, ref);
    await scene.settle();
    const uid = scene.target()?.metadata.uid;
    expect(uid).toBeDefined();
    scene.vault().lists({ name: "db", version: 2 });
    scene.follow(data, { target: { creationPolicy: "Orphan" } });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.target()?.metadata.uid).toBe(uid);
  });
});

describe("labels and annotations of the target", () => {
  const described = {
    labels: { team: "shop", tier: "db" },
    annotations: { "example.com/note": "by spec" },
  };

  test("are created with it, and those of the resource are not copied", async () => {
    await using scene = await created({});
    scene.server.patch(vaultSecretKind, ref, {
      metadata: { labels: { own: "x" }, annotations: { "example.com/own": "x" } },
    });
    await respecified(scene, described);
    const { labels, annotations } = scene.target()?.metadata ?? {};
    expect(labels).toEqual({ ...described.labels, "app.kubernetes.io/managed-by": "vaultsync" });
    expect(annotations).toMatchObject(described.annotations);
    expect(annotations).not.toHaveProperty(["example.com/own"]);
  });

  test("are repaired when another writer changes or removes them", async () => {
    await using scene = await created(described);
    const metadata = {
      labels: { team: "other", tier: null },
      annotations: { "example.com/note": null },
    };
    scene.server.patch(SECRETS, ref, { metadata });
    await scene.settle();
    expect(scene.target()?.metadata).toMatchObject(described);
    expect(scene.events.at(-1)?.reason).toBe("TargetRepaired");
  });

  test("are removed when the spec no longer has them, next to those of others", async () => {
    await using scene = await created(described);
    scene.server.patch(SECRETS, ref, {
      metadata: { labels: { foreign: "x" }, annotations: { "example.com/foreign": "x" } },
    });
    await scene.settle();
    await respecified(scene, { labels: { team: "shop" } });
    const { labels, annotations } = scene.target()?.metadata ?? {};
    expect(labels).toEqual({
      team: "shop",
      foreign: "x",
      "app.kubernetes.io/managed-by": "vaultsync",
    });
    expect(annotations).not.toHaveProperty(["example.com/note"]);
    expect(annotations).toHaveProperty(["example.com/foreign"], "x");
    await respecified(scene, {});
    expect(scene.target()?.metadata.labels).toEqual({
      foreign: "x",
      "app.kubernetes.io/managed-by": "vaultsync",
    });
    expect(scene.target()?.metadata.annotations).not.toHaveProperty([METADATA_ANNOTATION]);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("cost no request after a restart, and a new version is patched without reading them", async () => {
    await using scene = await created(described);
    scene.takeRequests();
    await scene.replace();
    expect(scene.takeRequests()).toEqual([]);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    scene.takeRequests();
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle();
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(scene.target()?.metadata).toMatchObject(described);
  });

  test("that another writer changes repeatedly are reported as contested", async () => {
    await using scene = await created(described);
    for (let change = 0; change < 5; change += 1) {
      scene.server.patch(SECRETS, ref, { metadata: { labels: { team: `other-${change}` } } });
      await scene.settle(1_000);
    }
    expect(scene.condition("Ready")?.reason).toBe("TargetContested");
  });
});

describe("immutable", () => {
  test("creates an immutable target, and reports a change of the source without forcing it", async () => {
    await using scene = await created({ immutable: true });
    const before = scene.target();
    expect(before?.immutable).toBe(true);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, TargetImmutable");
    expect(scene.condition("Stalled")?.message).toContain("unset target.immutable");
    expect(scene.target()).toEqual(before);
    scene.server.delete(SECRETS, ref);
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.target()?.immutable).toBe(true);
    expect(scene.condition("Stalled")).toBeUndefined();
  });

  test("makes an existing target immutable", async () => {
    await using scene = await created({});
    expect(scene.target()?.immutable).toBeUndefined();
    await respecified(scene, { immutable: true });
    expect(scene.target()?.immutable).toBe(true);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.takeRequests();
    await scene.replace();
    expect(scene.takeRequests()).toEqual([]);
  });
});

describe("the type of the target", () => {
  test("may be one that the operator was started with", async () => {
    await using scene = await created({ type: "example.com/token" });
    expect(scene.target()?.type).toBe("example.com/token");
  });

  test("is rejected if the operator does not allow it, with the flag that does", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], data, {
      target: { type: "example.com/other" },
    });
    expect(scene.outcome()).toBe("absent, InvalidSpec");
    expect(scene.condition("Stalled")?.message).toContain("--allowed-secret-types");
    expect(scene.condition("Stalled")?.message).not.toContain("example.com/other");
  });
});

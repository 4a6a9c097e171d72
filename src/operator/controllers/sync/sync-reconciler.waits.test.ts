import { describe, expect, test } from "vitest";
import { SyncScene } from "../../../../test/lab/kube/sync-scene.ts";
import { KubeError, type KubeErrorKind } from "../../kube/kube-error.ts";
import { GONE, type ReconcileResult } from "../../runtime/controller.ts";
import { TransientError } from "../../vault-client/vault-error.ts";

const MINUTE = 60_000;
const waits = (
  reason: "connection" | "target" | "namespace",
  atMostMs = 5 * MINUTE,
): ReconcileResult => ({
  outcome: "done",
  wait: { for: reason, atMostMs },
});

const KEY = "VaultSecret/shop/db";

const value = ({ target }: SyncScene): string =>
  Buffer.from(target?.data?.["password"] ?? "", "base64").toString();

/**
 * Returns a scene whose resource follows another connection, while the silent watch still shows the
 * former spec.
 */
async function outdated(): Promise<SyncScene> {
  const scene = await SyncScene.synced();
  scene.connect("other").lists({ name: "db" });
  scene.vault.lists({ name: "db", version: 2 });
  scene.follow("other");
  await expect(scene.reconcileKey(KEY)).rejects.toThrow(KubeError);
  await expect(scene.reconcileKey(KEY)).rejects.toThrow(KubeError);
  expect(value(scene)).toBe("vault db@2");
  return scene;
}

const ready = ({ status }: SyncScene) => status.conditions?.find(({ type }) => type === "Ready");

/** Makes the next creation of a target fail. */
function failsToCreate({ api }: SyncScene, kind: KubeErrorKind): void {
  const create = api.create.bind(api);
  api.create = () => {
    api.create = create;
    return Promise.reject(new KubeError({ kind, operation: "create secrets shop/db" }));
  };
}

const INVALID = {
  state: "invalid",
  message: "spec.url: expected https",
  stale: undefined,
} as const;

describe("SyncReconciler without a usable connection", () => {
  test("waits for a connection that is being opened, without a status", async () => {
    const scene = new SyncScene();
    scene.setConnection("vault", { state: "opening" });
    expect(await scene.reconcileOnce()).toEqual(waits("connection"));
    expect(scene.status).toEqual({});
  });

  test("reports a connection that does not exist, and waits for it", async () => {
    const scene = new SyncScene();
    scene.follow("absent");
    expect(await scene.reconcileOnce()).toEqual({ ...waits("connection"), notReady: true });
    expect(ready(scene)).toMatchObject({
      reason: "ConnectionNotFound",
      message:
        "VaultConnection absent not found in namespace shop: create it, or correct spec.connectionRef.name",
    });
  });

  test("reports why a connection cannot be opened, unless the target is in sync", async () => {
    const scene = new SyncScene();
    scene.setConnection("vault", INVALID);
    expect(await scene.reconcileOnce()).toEqual({ ...waits("connection"), notReady: true });
    expect(ready(scene)).toMatchObject({
      reason: "ConnectionNotReady",
      message: "VaultConnection vault is not ready: spec.url: expected https",
    });
    scene.connect("vault").lists({ name: "db" });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
    scene.setConnection("vault", INVALID);
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
  });

  test("waits for the first list, without a status", async () => {
    const scene = new SyncScene();
    expect(await scene.reconcileOnce()).toEqual(waits("connection"));
    expect(scene.status).toEqual({});
  });

  test("reports why the vault cannot be listed", async () => {
    const scene = new SyncScene();
    scene.vault.setHealth("failing", new TransientError("list_no_dup", "timeout"));
    expect(await scene.reconcileOnce()).toEqual({ ...waits("connection"), notReady: true });
    expect(ready(scene)).toMatchObject({
      reason: "ConnectionNotReady",
      message: expect.stringMatching(
        /^VaultConnection vault is not ready: cannot list the secrets of ops@example\.com at https:/u,
      ),
    });
  });

  test("reports a vault that has not responded for too long", async () => {
    const scene = new SyncScene();
    scene.connect("vault", "*", {
      stale: { since: scene.clock.now(), reason: "VaultUnreachable" },
    });
    expect(await scene.reconcileOnce()).toEqual({ ...waits("connection"), notReady: true });
    expect(ready(scene)).toMatchObject({
      reason: "ConnectionNotReady",
      message: "VaultConnection vault is not ready: waiting for the first list of the vault",
    });
    // There is no target that may be out of date.
    expect(scene.status.conditions).toHaveLength(1);
  });

  test("waits for a list that covers all of its names", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db" });
    scene.follow("vault", { password: "db", more: "not referenced yet" });
    expect(await scene.reconcileOnce()).toEqual(waits("connection"));
    expect(scene.status).toEqual({});
    expect(scene.target).toBeUndefined();
  });
});

describe("SyncReconciler while an object is being deleted", () => {
  const deletionTimestamp = "2026-11-21T00:00:00Z";

  test("does nothing for a deleted resource, and for one that is being deleted", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db" });
    const { resource } = scene;
    scene.api.put("vaultsecrets", {
      ...resource,
      metadata: { ...resource.metadata, deletionTimestamp },
    });
    expect(await scene.reconcileOnce()).toEqual({ outcome: "done" });
    expect(scene.target).toBeUndefined();
    expect(await scene.reconcileKey("VaultSecret/shop/deleted")).toEqual(GONE);
  });

  test("waits until its own target that is being deleted is gone, and then recreates it", async () => {
    const scene = await SyncScene.synced();
    const target = scene.target;
    if (target === undefined) throw new Error("the target does not exist");
    scene.api.put("secrets", { ...target, metadata: { ...target.metadata, deletionTimestamp } });
    scene.vault.lists({ name: "db", version: 2 });
    expect(await scene.reconcileOnce()).toEqual(waits("target", 30_000));
    expect(ready(scene)?.reason).toBe("Synced");
    scene.api.objects.delete("secrets/shop/db");
    expect(await scene.reconcile()).toBe("vault db@2, Synced");
  });
});

describe("SyncReconciler after a failed write", () => {
  test("waits for the namespace if it is being deleted, without a status", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db" });
    failsToCreate(scene, "NamespaceTerminating");
    expect(await scene.reconcileOnce()).toEqual(waits("namespace"));
    expect(scene.status).toEqual({});
  });

  test.each<KubeErrorKind>(["Timeout", "NotLeader"])(
    "throws %s: the work queue retries it",
    async (kind) => {
      const scene = new SyncScene();
      scene.vault.lists({ name: "db" });
      failsToCreate(scene, kind);
      await expect(scene.reconcileOnce()).rejects.toMatchObject({ kind });
      expect(await scene.reconcile()).toBe("vault db@1, Synced");
    },
  );

  // With a backoff longer than the time for which the found target was remembered, each retry
  // created it again, in vain.
  test("decides again immediately if its own target is not shown by the watch", async () => {
    const scene = await SyncScene.synced();
    scene.restart();
    expect(await scene.reconcileOnce({ showsTarget: false })).toEqual({
      outcome: "done",
      wait: undefined,
    });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
  });

  test("reports an object of another writer that the watch does not show", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db" });
    scene.api.put("secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: "shop", name: "db", uid: "foreign" },
    });
    expect(await scene.reconcileOnce({ showsTarget: false })).toEqual({
      ...waits("target", 30_000),
      notReady: true,
    });
    expect(ready(scene)?.reason).toBe("TargetConflict");
    expect(scene.status.items).toMatchObject([{ key: "db", latest: 1 }]);
  });

  test("retries if the target changes each time that it is read", async () => {
    const scene = await SyncScene.synced();
    scene.restart();
    scene.annotate({ "vaultsync.dev/versions": "{}" });
    scene.beforeNextRead(() => {
      scene.annotate({ note: "changed again" });
      scene.beforeNextRead(() => scene.annotate({ note: "changed once more" }));
    });
    expect(await scene.reconcileOnce()).toEqual({
      outcome: "retry",
      cause: "target",
      reason: "the target was changed concurrently",
    });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
  });
});

describe("SyncReconciler after two conflicts of its status", () => {
  const waitsForWatch: ReconcileResult = { outcome: "retry", cause: "api", reason: "Conflict" };

  test("leaves the target unchanged until the watch shows the newer spec", async () => {
    const scene = await outdated();
    scene.edit("other db@1");
    expect(await scene.reconcileKey(KEY)).toEqual(waitsForWatch);
    expect(value(scene)).toBe("other db@1");
    expect(await scene.reconcile()).toBe("other db@1, Synced");
  });

  test("trusts a watch that shows nothing newer for 20 s", async () => {
    const scene = await outdated();
    await scene.clock.advance(19_999);
    expect(await scene.reconcileKey(KEY)).toEqual(waitsForWatch);
    await scene.clock.advance(1);
    scene.vault.lists({ name: "db", version: 3 });
    await expect(scene.reconcileKey(KEY)).rejects.toThrow(KubeError);
    expect(value(scene)).toBe("vault db@3");
  });
});

describe("SyncReconciler after a write", () => {
  test("records an event for a new version, and none for a target that was only verified", async () => {
    const scene = await SyncScene.synced();
    scene.restart();
    await scene.reconcile();
    expect(scene.events).toEqual([]);
    scene.vault.lists({ name: "db", version: 2 });
    await scene.reconcile();
    expect(scene.events).toEqual(["TargetUpdated"]);
  });

  test("does not count changes of the spec as a fight with another writer", async () => {
    const scene = await SyncScene.synced();
    for (const key of ["one", "two", "three", "four"]) {
      scene.follow("vault", { [key]: "db" });
      expect(await scene.reconcile()).toBe("absent, Synced");
    }
    expect(new Set(scene.events)).toEqual(new Set(["TargetUpdated"]));
  });
});

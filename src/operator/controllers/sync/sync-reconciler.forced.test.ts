import { expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { SyncScene } from "../../../../test/lab/kube/sync-scene.ts";
import { FRESH_LIST_MS } from "../outcome/fresh-lists.ts";

/** Requests a forced sync of the resource. */
function force({ api, resource }: SyncScene, value: string): void {
  const { metadata } = resource;
  const annotations = { ...metadata.annotations, "vaultsync.dev/force-sync": value };
  api.put("vaultsecrets", { ...resource, metadata: { ...metadata, annotations } });
}

/** Makes the lists of the vault end only when the test says so, and returns their ends. */
function holdsLists({ vault }: SyncScene): (() => void)[] {
  const ends: (() => void)[] = [];
  vault.listAgain = () => new Promise<void>((end) => void ends.push(end));
  return ends;
}

test("a forced sync waits for a list, which it requests once, and then follows it", async () => {
  const scene = await SyncScene.synced();
  const ends = holdsLists(scene);
  force(scene, "now");
  const before = scene.resource;
  const waits = { outcome: "done", wait: { for: "connection", atMostMs: FRESH_LIST_MS } };
  expect(await scene.reconcileOnce()).toEqual(waits);
  expect(await scene.reconcileOnce()).toEqual(waits);
  expect(ends.length).toBe(1);
  expect(scene.resource).toEqual(before);
  scene.vault.lists({ name: "db", version: 2 });
  ends[0]?.();
  await scene.clock.advance(0);
  expect(await scene.reconcile()).toBe("vault db@2, Synced");
  expect(ends.length).toBe(1);
  expect(scene.status.lastForceSync).toBe("now");
});

test("a forced sync reads a target that was verified before", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.takeRequests();
  scene.annotate({ "vaultsync.dev/force-sync": "now" });
  await scene.settle();
  expect(scene.takeRequests()).toEqual(["get secrets db", "update vaultsecrets db"]);
});

test("a forced sync of a suspended resource happens when it is resumed", async () => {
  const scene = await SyncScene.synced();
  const ends = holdsLists(scene);
  scene.suspend(true);
  force(scene, "now");
  expect(await scene.reconcile()).toBe("vault db@1, Suspended");
  expect(ends.length).toBe(0);
  expect(scene.status.lastForceSync).toBeUndefined();
  scene.suspend(false);
  await scene.reconcileOnce();
  expect(ends.length).toBe(1);
  expect(scene.status.lastForceSync).toBeUndefined();
});

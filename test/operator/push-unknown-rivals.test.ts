import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";

const FLAGS = { leaderElect: false, namespaces: ["shop", "billing"] };
/** Time within which a namespace whose permissions are back is served. */
const BACK_MS = 120_000;
const HELD = /^not all namespaces that the operator serves are listed/u;

/** Returns a world with a namespace next to `shop`. Its Secret has the value `older`. */
async function twoNamespaces(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.forPushes(FLAGS);
  scene.pushes.connected("billing");
  scene.pushes.source({ password: "older" }, { namespace: "billing" });
  scene.pushes.source({ password: "younger" });
  return scene;
}

/** Restarts the operator while it may not list the namespace `billing`. */
const restartWithoutBilling = (scene: SimulatedWorld): Promise<void> =>
  scene.pushes.restart(() => scene.deny("billing"));

test("the younger of two VaultPushes does not take over while the older one is unreadable", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({}, "push", "billing");
  await scene.settle();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("PushConflict");
  await restartWithoutBilling(scene);
  expect(scene.pushes.versions()).toEqual(["older"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "TargetForbidden",
    message: expect.stringMatching(HELD),
  });
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["older"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.reason("push", "billing")).toBe("Synced");
});

test("Delete waits while a namespace is unreadable, and keeps an entry that is shared there", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.put({}, "push", "billing");
  await scene.settle();
  await restartWithoutBilling(scene);
  scene.pushes.delete();
  await scene.settle(300_000);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "TargetForbidden",
    message: expect.stringMatching(
      /^the entries are not deleted yet: .*deletionPolicy to Retain$/u,
    ),
  });
  expect(scene.pushes.versions()).toEqual(["younger"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["younger", "older"]);
});

test("an entry whose latest version is the pushed one is pushed while a namespace is unreadable", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put();
  await scene.settle();
  await restartWithoutBilling(scene);
  scene.pushes.source({ password: "changed" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["younger", "changed"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a namespace that is unreadable does not delay the first push of another one", async () => {
  await using scene = await twoNamespaces();
  await restartWithoutBilling(scene);
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["younger"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("Delete waits also when a namespace became unreadable while the operator was running", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.deny("billing");
  for (const watch of scene.server.watches()) watch.drop();
  await scene.settle(60_000);
  scene.pushes.put({}, "push", "billing");
  scene.pushes.delete();
  await scene.settle(300_000);
  expect(scene.pushes.reason()).toBe("TargetForbidden");
  expect(scene.pushes.versions()).toEqual(["younger"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["younger", "older"]);
});

import { describe, expect, test } from "vitest";
import { valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { ADOPT_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

const FIND = { data: undefined, dataFrom: [{ find: { name: { regexp: "^shop-" } } }] };
const APP = { namespace: "shop", name: "app" };
const BOTH = { "shop-a": "vault shop-a@1", "shop-b": "vault shop-b@1" };

const named = (...names: readonly string[]): Partial<SecretRecord>[] =>
  names.map((name) => ({ name }));

/** Starts an operator whose resource found two secrets, of which `shop-a` is gone. */
async function withoutOne(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following(named("shop-a", "shop-b"), {}, FIND);
  scene.vault().lists(...named("shop-b"));
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
  return scene;
}

async function rename(scene: SimulatedWorld, target: object = {}): Promise<void> {
  scene.follow({}, { ...FIND, target: { name: "app", ...target } });
  await scene.settle(60_000);
}

const secret = { apiVersion: "v1", kind: "Secret", metadata: APP };

describe("while a secret that a rule found is gone", () => {
  test("the former target stays, and the new one is not created", async () => {
    await using scene = await withoutOne();
    await rename(scene);
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(scene.target("app")).toBeUndefined();
    expect(scene.condition("Ready")).toMatchObject({
      reason: "SourceMissing",
      message: expect.stringContaining("shop-a"),
    });
    await scene.restart();
    await scene.settle(60_000);
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(scene.target("app")).toBeUndefined();
  });

  test("the new target follows when the secret is back", async () => {
    await using scene = await withoutOne();
    await rename(scene);
    scene.vault().lists(...named("shop-a", "shop-b"));
    await scene.settle(60_000);
    expect(scene.target()).toBeUndefined();
    expect(valuesOf(scene.target("app"))).toEqual(BOTH);
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("the new target follows without its key when the spec does not find it any more", async () => {
    await using scene = await withoutOne();
    await rename(scene);
    const dataFrom = [{ find: { name: { regexp: "^shop-b" } } }];
    scene.follow({}, { ...FIND, dataFrom, target: { name: "app" } });
    await scene.settle();
    expect(scene.target()).toBeUndefined();
    expect(valuesOf(scene.target("app"))).toEqual({ "shop-b": "vault shop-b@1" });
  });

  test("the new target follows without its key when a user deletes the former one", async () => {
    await using scene = await withoutOne();
    await rename(scene);
    scene.server.delete(SECRETS, { namespace: "shop", name: "db" });
    await scene.settle(60_000);
    expect(valuesOf(scene.target("app"))).toEqual({ "shop-b": "vault shop-b@1" });
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("the new target follows without its key under whenMissing: Delete", async () => {
    await using scene = await withoutOne();
    await rename(scene, { whenMissing: "Delete" });
    await scene.settle(3_600_000);
    expect(scene.target()).toBeUndefined();
    expect(valuesOf(scene.target("app"))).toEqual({ "shop-b": "vault shop-b@1" });
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("nothing is merged into the object of a user that becomes the target", async () => {
    await using scene = await withoutOne();
    scene.server.create(SECRETS, secret);
    await rename(scene, { creationPolicy: "Merge" });
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(valuesOf(scene.target("app"))).toEqual({});
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
  });

  test("an object that is handed over keeps what it has", async () => {
    await using scene = await withoutOne();
    const annotations = { [ADOPT_ANNOTATION]: "VaultSecret/db" };
    scene.server.create(SECRETS, { ...secret, metadata: { ...APP, annotations } });
    await rename(scene);
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(valuesOf(scene.target("app"))).toEqual({});
  });
});

test("a found secret leaves a former target at its deadline while the new name belongs to others", async () => {
  await using scene = await SimulatedWorld.following(named("shop-a", "shop-b"), {}, FIND);
  const deleteAt = scene.clock.now() + 120_000;
  scene.vault().lists({ name: "shop-a", deleteAt }, ...named("shop-b"));
  scene.server.create(SECRETS, secret);
  await rename(scene);
  expect(scene.condition("Ready")?.reason).toBe("TargetConflict");
  expect(valuesOf(scene.target())).toEqual(BOTH);
  await scene.settle(60_000);
  scene.vault().lists(...named("shop-b"));
  await scene.settle();
  expect(valuesOf(scene.target())).toEqual({ "shop-b": "vault shop-b@1" });
});

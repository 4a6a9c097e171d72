import { expect, test } from "vitest";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import { SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

/** A former target whose successor cannot be created loses what the vault removes. */
const MINUTE = 60_000;
const VALUES = { a: "1", b: "2", c: "3" };
const AFTER = { name: "after" };

/**
 * Starts an operator whose resource names another target while the source `a` is missing, and lets
 * `b` reach its delete_time.
 */
async function renamed(spec: object, target: object = {}): Promise<SimulatedWorld> {
  const scene = await synced(VALUES, { ...spec, target });
  const { b, c } = VALUES;
  scene.vault().serves({ b, c });
  scene.follow({}, { ...spec, target: { ...target, ...AFTER } });
  await scene.settle();
  await remove(scene, { b, c }, "b");
  return scene;
}

test.each([{}, { creationPolicy: "Orphan" }])(
  "the key of a removed source leaves a former target that stays: %o",
  async (target) => {
    await using scene = await renamed({ data: data("a", "b", "c") }, target);
    expect(valuesOf(scene.target())).toEqual({ a: "1", c: "3" });
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
    scene.takeRequests();
    await scene.settle(20 * MINUTE);
    expect(scene.takeRequests()).toEqual([]);
    scene.vault().serves({ a: "1", c: "3" });
    await scene.settle();
    expect(valuesOf(scene.target("after"))).toEqual({ a: "1", c: "3" });
    expect(scene.target() === undefined).toBe(!("creationPolicy" in target));
  },
);

test("a former target goes with its last source", async () => {
  await using scene = await synced({ b: "2" }, { data: data("b") });
  scene.follow({}, { data: data("b", "a"), target: AFTER });
  await scene.settle();
  expect(valuesOf(scene.target())).toEqual({ b: "2" });
  await remove(scene, { b: "2" }, "b");
  expect(scene.target()).toBeUndefined();
});

test("a rendered former target goes with a source that the vault removed", async () => {
  const template = { data: { all: "{{ a }} {{ b }}" } };
  await using scene = await renamed({ data: data("a", "b") }, { template });
  expect(scene.target()).toBeUndefined();
});

test("the key of a removed source leaves a former target while the new name belongs to others", async () => {
  await using scene = await synced(VALUES, { data: data("a", "b") });
  const metadata = { namespace: SHOP, ...AFTER };
  scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
  scene.follow({}, { data: data("a", "b"), target: AFTER });
  await scene.settle();
  await remove(scene, VALUES, "b");
  expect(scene.condition("Ready")?.reason).toBe("TargetConflict");
  expect(valuesOf(scene.target())).toEqual({ a: "1" });
});

test("a former target keeps a key whose bytes are of another source than the removed one", async () => {
  await using scene = await synced(VALUES, { data: data("a", "b") });
  scene.vault().serves({ b: "2", c: "3" });
  const other = { secretKey: "b", remoteRef: { key: "c" } };
  scene.follow({}, { data: [...data("a"), other], target: AFTER });
  await scene.settle();
  await remove(scene, { b: "2", c: "3" }, "c");
  expect(valuesOf(scene.target())).toEqual({ a: "1", b: "2" });
});

// The API server rejected the change, and the operator took the target for an immutable one.
test.each([false, true])(
  "a former target whose type requires the removed key is deleted, immutable: %s",
  async (immutable) => {
    const values = { registry: '{"auths":{"r":{}}}', note: "2" };
    const ofRegistry = { secretKey: ".dockerconfigjson", remoteRef: { key: "registry" } };
    const spec = { data: [ofRegistry, ...data("note")] };
    const target = { type: "kubernetes.io/dockerconfigjson", immutable };
    await using scene = await synced(values, { ...spec, target });
    const metadata = { namespace: SHOP, ...AFTER };
    scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
    // The spec does not have the type of the former target any more.
    scene.follow({}, { ...spec, target: AFTER });
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual({
      ".dockerconfigjson": values.registry,
      note: values.note,
    });
    await remove(scene, values, "registry");
    expect(scene.condition("Ready")?.reason).toBe("TargetConflict");
    expect(scene.target()).toBeUndefined();
  },
);

test("a former target of a type loses a removed key that the type does not require", async () => {
  const values = { registry: '{"auths":{"r":{}}}', note: "2" };
  const ofRegistry = { secretKey: ".dockerconfigjson", remoteRef: { key: "registry" } };
  const spec = { data: [ofRegistry, ...data("note")] };
  const type = "kubernetes.io/dockerconfigjson";
  await using scene = await synced(values, { ...spec, target: { type } });
  scene.follow({}, { ...spec, data: [...spec.data, ...data("none")], target: { type, ...AFTER } });
  await scene.settle();
  await remove(scene, values, "note");
  expect(valuesOf(scene.target())).toEqual({ ".dockerconfigjson": values.registry });
});

test("an immutable former target stays as a whole", async () => {
  await using scene = await renamed({ data: data("a", "b") }, { immutable: true });
  expect(valuesOf(scene.target())).toEqual({ a: "1", b: "2" });
  expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
});

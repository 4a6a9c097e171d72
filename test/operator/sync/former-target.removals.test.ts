import { describe, expect, test } from "vitest";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import { SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { ADOPT_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";

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

const MERGE = { target: { name: "next", creationPolicy: "Merge" } };
const BOTH_KEYS = { a: "vault a@1", b: "vault b@1" };

/** Creates an object of a user. */
function create(scene: SimulatedWorld): void {
  const metadata = { namespace: SHOP, name: "next" };
  scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata });
}

/**
 * Starts an operator whose resource has these keys in the target `db`, after it had only `a` in the
 * object `next`. That is there still.
 */
async function merged(...keys: readonly string[]): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("a", "b");
  create(scene);
  scene.follow(Object.fromEntries(keys.map((key) => [key, key])), MERGE);
  await scene.settle();
  scene.vault().lists({ name: "a" }, { name: "b" });
  scene.follow({ a: "a", b: "b" });
  await scene.settle();
  expect(valuesOf(scene.target())).toEqual(BOTH_KEYS);
  return scene;
}

// The next target existed: it was written without the missing key, and the former one was deleted
// with it.
describe("a resource names a target that it had before, while a source is missing", () => {
  test("the former target stays until the source is back", async () => {
    await using scene = await merged("a");
    scene.vault().lists({ name: "a" });
    await scene.settle();
    scene.follow({ a: "a", b: "b" }, MERGE);
    await scene.settle();
    await scene.replace();
    await scene.settle(5 * MINUTE);
    expect(valuesOf(scene.target("next"))).toEqual({ a: "vault a@1" });
    expect(valuesOf(scene.target())).toEqual(BOTH_KEYS);
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
    scene.vault().lists({ name: "a" }, { name: "b" });
    await scene.settle();
    expect(valuesOf(scene.target("next"))).toEqual(BOTH_KEYS);
    expect(scene.target()).toBeUndefined();
  });

  test("the former target stays with a newer version of it", async () => {
    await using scene = await merged("a", "b");
    scene.vault().lists({ name: "a" }, { name: "b", version: 2 });
    await scene.settle();
    scene.vault().lists({ name: "a" });
    await scene.settle();
    scene.follow({ a: "a", b: "b" }, MERGE);
    await scene.settle();
    expect(valuesOf(scene.target())?.["b"]).toBe("vault b@2");
  });

  test("the former target goes if the next one has all of its bytes", async () => {
    await using scene = await merged("a", "b");
    scene.vault().lists({ name: "a" });
    await scene.settle();
    scene.follow({ a: "a", b: "b" }, MERGE);
    await scene.settle();
    expect(valuesOf(scene.target("next"))).toEqual(BOTH_KEYS);
    expect(scene.target()).toBeUndefined();
  });

  test("the former target loses what the vault removes", async () => {
    await using scene = await merged("a");
    scene.vault().lists({ name: "a", deleteAt: scene.clock.now() + 2 * MINUTE });
    await scene.settle();
    scene.follow({ a: "a", b: "b" }, MERGE);
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual(BOTH_KEYS);
    await scene.settle(3 * MINUTE);
    scene.vault().lists();
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual({ b: BOTH_KEYS.b });
  });
});

test.each([
  ["named", { data: ["a", "b"].map((key) => ({ secretKey: key, remoteRef: { key } })) }],
  ["found", { data: undefined, dataFrom: [{ find: { name: { regexp: "^[ab]$" } } }] }],
])(
  "an orphan that is handed over does not replace a target with a missing key: %s",
  async (_, spec) => {
    await using scene = await SimulatedWorld.shop("a");
    const old = { namespace: SHOP, name: "old" };
    scene.follow({ a: "a" }, { name: "old", target: { name: "next", creationPolicy: "Orphan" } });
    await scene.settle();
    scene.server.delete(vaultSecretKind, old);
    scene.vault().lists({ name: "a" }, { name: "b" });
    scene.follow({}, spec);
    await scene.settle();
    scene.vault().lists({ name: "a" });
    await scene.settle();
    const metadata = { annotations: { [ADOPT_ANNOTATION]: "VaultSecret/db" } };
    scene.server.patch(SECRETS, { namespace: SHOP, name: "next" }, { metadata });
    scene.follow({}, { ...spec, target: { name: "next" } });
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual(BOTH_KEYS);
    expect(valuesOf(scene.target("next"))).toEqual({ a: BOTH_KEYS.a });
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
  },
);

// The status showed the versions from before the denial.
test("a former target that may not be deleted does not keep the status from following", async () => {
  await using scene = await SimulatedWorld.following([{ name: "a" }], { a: "a" });
  scene.server.authorize = ({ verb, resource }) =>
    verb !== "delete" || resource.plural !== "secrets";
  scene.follow({ a: "a" }, { target: { name: "next" } });
  await scene.settle();
  scene.vault().lists({ name: "a", version: 2 });
  await scene.settle();
  expect(valuesOf(scene.target("next"))).toEqual({ a: "vault a@2" });
  expect(scene.status().items).toMatchObject([{ version: 2, latest: 2 }]);
  expect(scene.status().target?.name).toBe("db");
  expect(scene.condition("Ready")?.reason).toBe("TargetForbidden");
  scene.allow();
  await scene.settle(2 * MINUTE);
  expect(scene.target()).toBeUndefined();
  expect(scene.condition("Ready")?.status).toBe("True");
});

import { describe, expect, test } from "vitest";
import { SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { ADOPT_ANNOTATION } from "../../../src/operator/api/names.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const MINUTE = 60_000;
const MERGE = { target: { name: "next", creationPolicy: "Merge" } };
const BOTH = { a: "vault a@1", b: "vault b@1" };

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
  expect(valuesOf(scene.target())).toEqual(BOTH);
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
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
    scene.vault().lists({ name: "a" }, { name: "b" });
    await scene.settle();
    expect(valuesOf(scene.target("next"))).toEqual(BOTH);
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
    expect(valuesOf(scene.target("next"))).toEqual(BOTH);
    expect(scene.target()).toBeUndefined();
  });

  test("the former target loses what the vault removes", async () => {
    await using scene = await merged("a");
    scene.vault().lists({ name: "a", deleteAt: scene.clock.now() + 2 * MINUTE });
    await scene.settle();
    scene.follow({ a: "a", b: "b" }, MERGE);
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual(BOTH);
    await scene.settle(3 * MINUTE);
    scene.vault().lists();
    await scene.settle();
    expect(valuesOf(scene.target())).toEqual({ b: BOTH.b });
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
    expect(valuesOf(scene.target())).toEqual(BOTH);
    expect(valuesOf(scene.target("next"))).toEqual({ a: BOTH.a });
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

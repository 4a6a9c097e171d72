import { expect, test, describe } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const MINUTE = 60_000;
const namespace = "shop";

/** Starts an operator with --target-watch=off that has synced the Secret `a`. */
async function unwatched(): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld();
  scene.addVault(namespace, ["a"]);
  scene.start({ leaderElect: false, targetWatch: "off" });
  await scene.clock.advance(MINUTE);
  expect(scene.value(namespace, "a")).toBe("a@1");
  return scene;
}

const retarget = ({ server }: SimulatedWorld, target: object): void => {
  const { resourceVersion } = server.get(vaultSecretKind, { namespace, name: "a" }).metadata;
  server.patch(vaultSecretKind, { namespace, name: "a", resourceVersion }, { spec: { target } });
};
const targetsOf = ({ server }: SimulatedWorld): string[] =>
  server
    .all(SECRETS)
    .filter((object) => object["type"] === "Opaque" && object.metadata.namespace === namespace)
    .map(({ metadata }) => metadata.name)
    .sort();

test("without a watch of Secrets a former target is removed, also after two changes of the name", async () => {
  await using scene = await unwatched();
  retarget(scene, { name: "b" });
  await scene.clock.advance(MINUTE);
  expect(targetsOf(scene)).toEqual(["b"]);
  scene.server.authorize = ({ subresource }) => subresource !== "status";
  for (const name of ["c", "d"]) {
    retarget(scene, { name });
    await scene.clock.advance(MINUTE);
  }
  scene.server.authorize = () => true;
  await scene.clock.advance(5 * MINUTE);
  expect(targetsOf(scene)).toEqual(["d"]);
});

test("without a watch of Secrets a former target is removed that no status has named", async () => {
  await using scene = await unwatched();
  scene.server.authorize = ({ subresource }) => subresource !== "status";
  retarget(scene, { name: "b" });
  while (!targetsOf(scene).includes("b")) await scene.clock.advance(50);
  retarget(scene, { name: "c" });
  await scene.clock.advance(MINUTE);
  scene.server.authorize = () => true;
  await scene.clock.advance(5 * MINUTE);
  expect(targetsOf(scene)).toEqual(["c"]);
});

test("without a watch of Secrets a merged object is read every 5 minutes", async () => {
  await using scene = await unwatched();
  const metadata = { namespace, name: "app" };
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type: "Opaque",
    data: { own: "eA==" },
  });
  retarget(scene, { name: "app", creationPolicy: "Merge" });
  await scene.clock.advance(MINUTE);
  expect(Object.keys(scene.server.get(SECRETS, metadata)["data"] as object).sort()).toEqual([
    "own",
    "value",
  ]);
  scene.requests.length = 0;
  await scene.clock.advance(20 * MINUTE);
  expect(scene.requests.filter((request) => request === "get secrets app")).toHaveLength(4);
  scene.server.patch(SECRETS, metadata, { data: { value: null } });
  await scene.clock.advance(6 * MINUTE);
  expect(Object.keys(scene.server.get(SECRETS, metadata)["data"] as object).sort()).toEqual([
    "own",
    "value",
  ]);
});

/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;

/** Creates or changes the VaultSecret `db`, whose keys are of optional secrets. */
function follow(scene: SimulatedWorld, all: readonly string[], name: string, prefix = ""): void {
  const data = all.map((key) => ({ secretKey: prefix + key, remoteRef: { key }, optional: true }));
  const spec = { connectionRef: { name: "vault" }, data, target: { name } };
  scene.put(vaultSecretKind, { namespace: "shop", name: "db" }, spec);
}

/** Starts an operator that has synced optional secrets with the target `one`. */
async function synced(scene: SimulatedWorld, all: readonly string[]) {
  const vault = scene.addVault("shop", []);
  vault.write(...all);
  follow(scene, all, "one");
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(keysOf(scene, "one")).toEqual(all);
  return vault;
}

function keysOf(scene: SimulatedWorld, name: string): readonly string[] | undefined {
  const target = scene.target(name);
  return target && Object.keys(target.data ?? {});
}

// The next target was created without the key, or not at all, and the former one was deleted with
// its bytes: one list without the sources was enough.
describe("a target gets another name while optional sources are missing", () => {
  test("the former one stays until their absence is proven", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"]);
    vault.remove("b");
    await scene.clock.advance(MINUTE);
    follow(scene, ["a", "b"], "two");
    await scene.clock.advance(1_000);
    expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([["a", "b"], undefined]);
    expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
    await scene.clock.advance(PROOF);
    expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([undefined, ["a"]]);
    expect(scene.condition("Ready")?.status).toBe("True");
  });

  test.each(["", "other-"])(
    "it stays while removals are held (prefix of the keys: %j)",
    async (prefix) => {
      await using scene = new SimulatedWorld();
      const all = ["a", "b", "c", "d", "e"];
      const vault = await synced(scene, all);
      vault.remove(...all);
      await scene.clock.advance(PROOF);
      follow(scene, all, "two", prefix);
      await scene.clock.advance(PROOF);
      await scene.restart();
      await scene.clock.advance(PROOF);
      expect([keysOf(scene, "one"), keysOf(scene, "two")]).toEqual([all, undefined]);
      expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
      expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=5");
      vault.write(...all);
      await scene.clock.advance(MINUTE);
      expect(keysOf(scene, "one")).toBeUndefined();
      expect(keysOf(scene, "two")).toHaveLength(5);
    },
  );
});

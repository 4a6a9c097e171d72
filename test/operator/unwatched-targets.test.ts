import { expect, test } from "vitest";
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

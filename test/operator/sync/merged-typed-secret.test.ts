import { expect, test } from "vitest";
import { data, readyMessage, remove, type Values } from "../../lab/kube/removed-sources.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";

const ref = { namespace: "shop", name: "app" };
const target = { name: "app", creationPolicy: "Merge" };
const encode = (values: Values): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );

const valuesOf = (scene: SimulatedWorld): Record<string, string> =>
  Object.fromEntries(
    Object.entries(scene.target("app")?.data ?? {}).map(([key, value]) => [
      key,
      Buffer.from(value, "base64").toString(),
    ]),
  );

/** Lets a resource take over and merge keys of a Secret of another owner that has this type. */
async function merged(type: string, theirs: Values, values: Values): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  const annotations = { "vaultsync.dev/adopt": "VaultSecret/db" };
  const metadata = { ...ref, annotations };
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    type,
    data: encode(theirs),
  });
  scene.vault().serves(values);
  scene.follow({}, { target, data: data(...Object.keys(values)) });
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  return scene;
}

const TLS = { "tls.crt": "crt", "tls.key": "key" };
const REQUIRED = "a Secret of type kubernetes.io/tls requires the keys tls.crt";

// Found by a review: the API server rejected the removal as a whole.
test("a key at its deadline leaves with one that the type of a foreign Secret requires", async () => {
  const values = { "tls.crt": "ours", password: "secret", more: "1" };
  await using scene = await merged("kubernetes.io/tls", TLS, values);
  await remove(scene, values, "tls.crt", "password");
  expect(valuesOf(scene)).toEqual({ "tls.crt": "ours", "tls.key": "key", more: "1" });
  expect(scene.condition("Ready")?.reason).toBe("TargetRejected");
  expect(readyMessage(scene)).toContain(REQUIRED);
});

test("the only keys at their deadlines leave, but one that the type requires", async () => {
  const values = { "tls.crt": "ours", password: "secret" };
  await using scene = await merged("kubernetes.io/tls", TLS, values);
  await remove(scene, values, "tls.crt", "password");
  expect(valuesOf(scene)).toEqual({ "tls.crt": "ours", "tls.key": "key" });
  expect(readyMessage(scene)).toContain(REQUIRED);
  scene.takeRequests();
  const { resourceVersion } = scene.server.get(SECRETS, ref).metadata;
  await scene.settle(600_000);
  expect(scene.takeRequests().filter((request) => request.startsWith("patch"))).toEqual([]);
  expect(scene.server.get(SECRETS, ref).metadata.resourceVersion).toBe(resourceVersion);
  await scene.replace();
  expect(readyMessage(scene)).toContain(REQUIRED);
  scene.server.delete(SECRETS, ref);
  await scene.settle(60_000);
  expect(scene.condition("Ready")?.reason).toBe("TargetMissing");
});

test("a key that the spec drops keeps no other one from following, if the type requires it", async () => {
  const values = { "tls.crt": "ours", password: "secret" };
  await using scene = await merged("kubernetes.io/tls", TLS, values);
  scene.follow({}, { target, data: data("password") });
  scene.vault().serves({ ...values, password: "changed" });
  scene.vault().lists({ name: "tls.crt" }, { name: "password", version: 2 });
  await scene.settle();
  expect(valuesOf(scene)).toEqual({ "tls.crt": "ours", "tls.key": "key", password: "changed" });
  expect(readyMessage(scene)).toContain(REQUIRED);
});

test("a key at its deadline leaves although the type does not allow a new version of another", async () => {
  const type = "kubernetes.io/dockerconfigjson";
  const values = { ".dockerconfigjson": "{}", password: "secret" };
  await using scene = await merged(type, { ".dockerconfigjson": '{"auths":{}}' }, values);
  const deleteAt = scene.clock.now() + 10_000;
  scene.vault().expose = () => ({ value: "not JSON" });
  scene.vault().lists({ name: ".dockerconfigjson", version: 2 }, { name: "password", deleteAt });
  await scene.settle(60_000);
  expect(valuesOf(scene)).toEqual({ ".dockerconfigjson": "{}" });
  expect(scene.condition("Ready")?.reason).toBe("TargetRejected");
});

import { expect, test } from "vitest";
import { data, readyMessage, remove, type Values, synced } from "../../lab/kube/removed-sources.ts";
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

const VALUES = { username: "ann", password: "secret", more: "1" };
const keys = data("username", "password", "more");
const BASIC = { type: "kubernetes.io/basic-auth" };

// Found by a review: the write of the rest was rejected as a whole, every time.
test("a key at its deadline leaves a target whose type the spec has changed", async () => {
  await using scene = await synced(VALUES, { data: keys });
  scene.follow({}, { data: keys, target: BASIC });
  await scene.settle();
  const uid = scene.target()?.metadata.uid;
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  expect(scene.target()?.metadata.uid).toBe(uid);
  await scene.replace();
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
});

test("a key at its deadline leaves with its target if the former type requires it", async () => {
  await using scene = await synced(VALUES, { data: keys, target: BASIC });
  const opaque = { type: "Opaque" };
  scene.follow({}, { data: keys, target: opaque });
  await scene.settle();
  await remove(scene, VALUES, "username", "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("more=1, SourceRemoved");
  expect(scene.target()?.type).toBe("Opaque");
});

test("a variable at its deadline leaves with a rendered target whose type has changed", async () => {
  const template = { data: { url: "{{ username }}:{{ password | default: 'none' }}" } };
  const spec = { data: data("username", "password"), target: { template } };
  await using scene = await synced(VALUES, spec);
  scene.follow(
    {},
    {
      ...spec,
      target: {
        template: { data: { ...template.data, password: "{{ password | default: 'none' }}" } },
        ...BASIC,
      },
    },
  );
  await scene.settle();
  expect(scene.outcome()).toBe("url=ann:secret, TargetImmutable");
  await remove(scene, VALUES, "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=none url=ann:none, SourceRemoved");
});

test("an immutable target whose type the spec has changed stays as a whole", async () => {
  const immutable = { immutable: true };
  await using scene = await synced(VALUES, { data: keys, target: immutable });
  scene.follow({}, { data: keys, target: { ...immutable, ...BASIC } });
  await scene.settle();
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 password=secret username=ann, TargetImmutable");
});

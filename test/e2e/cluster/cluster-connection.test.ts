import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FaultProxy } from "../../lab/real/fault-proxy.ts";
import { startApiProxy } from "../../faults/support/api-proxy.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";
import { manifestsOf, permissionOf, permissionsOf } from "../../lab/real/granted.ts";
import { denialOf, repeatWithout } from "../support/without-permission.ts";
import { withoutStreamedLists } from "../support/without-streamed-lists.ts";
import { ACCOUNT, OPERATOR_USER, World } from "../../lab/real/world.ts";
import {
  bytesOf,
  condition,
  fannedOut,
  isReady,
  observedObject,
  vaultSecret,
} from "../../lab/real/resources.ts";

/**
 * ClusterVaultConnections, and the resources for several namespaces, on a real API server with the permissions of deploy/base. The server does
 * not stream lists: every permission is needed.
 */
const PLATFORM = "platform@example.com";
const OPERATOR_NAMESPACE = "vaultsync-system";
const KINDS = "/apis/vaultsync.dev/v1alpha1";
const PATH = `${KINDS}/clustervaultconnections`;
const EXAMPLE = "examples/many-namespaces/many-namespaces.yaml";

let proxy: FaultProxy;
let world: World;
let platform: VaultClient;
/**
 * Name of the connection and of its credentials Secret: unique, because they are not in the
 * namespace of the test.
 */
let name: string;
let mark: number;

beforeAll(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  withoutStreamedLists(proxy);
  const vault = await TestVault.start({ emails: [ACCOUNT, PLATFORM] });
  world = await World.create({ vault, ...started.api });
  platform = await vault.client(PLATFORM);
  name = `cluster-${world.namespace}`;
  mark = await world.plane.auditMark();
  await kubectl("label", "namespace", world.namespace, "team=shop");
  const stringData = { password: vault.passwords.get(PLATFORM) ?? "" };
  const login = (secret: string): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret, namespace: OPERATOR_NAMESPACE },
    type: "vaultsync.dev/credentials",
    stringData,
  });
  await apply(login(name), login("images-login"), connection(name, {}));
  await world.startClusterOperator();
});

afterAll(async () => {
  await kubectl("delete", "--ignore-not-found", "clustervaultfiles", name);
  await kubectl("delete", "--ignore-not-found", "clustervaultconnections", name, `${name}-foreign`);
  await kubectl("delete", "--ignore-not-found", "-f", EXAMPLE);
  const logins = [name, "images-login"];
  await kubectl("delete", "--ignore-not-found", "-n", OPERATOR_NAMESPACE, "secret", ...logins);
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const matchLabels = { team: "shop" };
const connection = (of: string, spec: object): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "ClusterVaultConnection",
  metadata: { name: of },
  spec: {
    url: world.vault.url,
    email: PLATFORM,
    auth: { passwordSecretRef: { name } },
    refreshInterval: "5s",
    access: [{ namespaceSelector: { matchLabels }, secrets: ["shop-*"] }],
    ...spec,
  },
});

const kubectl = (...args: string[]): Promise<string> => world.plane.kubectlOutput(args);

const apply = (...objects: object[]): Promise<void> => world.plane.apply(objects);

const protect = (key_name: string, key_value: string) =>
  platform.call("protect", { key_name, key_value });

function through(
  of: string,
  resource: string,
  keys: Readonly<Record<string, string>>,
  target: object = {},
): object {
  const object = vaultSecret(resource, keys, target);
  return {
    ...object,
    spec: {
      ...Reflect.get(object, "spec"),
      connectionRef: { kind: "ClusterVaultConnection", name: of },
    },
  };
}

async function untilConnection(
  of: string,
  type: string,
  is: (reason: string | undefined) => boolean,
): Promise<string> {
  return waitUntil(`${type} of ${of}`, async () => {
    const { body } = await world.plane.request("GET", `${PATH}/${of}`);
    const found = condition(observedObject.parse(JSON.parse(body)), type);
    return is(found?.reason) ? (found?.message ?? "none") : undefined;
  });
}

test("connections of the cluster and of a namespace with the same name use different accounts", async () => {
  const [own, shared] = [world.canaries.text("own"), world.canaries.text("shared")];
  await world.protect("shop-db", own);
  await protect("shop-db", shared);
  await world.apply({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultConnection",
    metadata: { name },
    spec: {
      url: world.vault.url,
      email: ACCOUNT,
      auth: { passwordSecretRef: { name: "vault-login" } },
    },
  });
  const object = vaultSecret("own", { password: "shop-db" });
  await world.apply({
    ...object,
    spec: { ...Reflect.get(object, "spec"), connectionRef: { name } },
  });
  await world.apply(through(name, "shared", { password: "shop-db" }));
  await world.ready("VaultSecret", "own");
  await world.ready("VaultSecret", "shared");
  const valueOf = async (target: string) =>
    bytesOf(await world.until("Secret", target, () => true), "password")?.toString();
  expect(await valueOf("own")).toEqual(own);
  expect(await valueOf("shared")).toEqual(shared);
  expect(await kubectl("get", "cvconn", name)).toMatch(
    new RegExp(`^${name}\\s+True\\s+Synced`, "m"),
  );
});

test("a namespace that loses its label keeps its Secret, and continues with the label", async () => {
  const before = await world.until("Secret", "shared", () => true);
  await kubectl("label", "namespace", world.namespace, "team-");
  const lost = await world.untilReason("VaultSecret", "shared", "NamespaceNotAllowed");
  expect(condition(lost, "Ready")?.message).toContain(
    `no entry for the namespace ${world.namespace}`,
  );
  const next = world.canaries.text("next");
  await protect("shop-db", next);
  expect((await world.until("Secret", "shared", () => true)).metadata.resourceVersion).toBe(
    before.metadata.resourceVersion,
  );
  await kubectl("label", "namespace", world.namespace, "team=shop");
  await world.has("shared", "password", next);
  await world.ready("VaultSecret", "shared");
});

test("a name outside the access and credentials in a user's namespace are refused", async () => {
  await protect("blog-db", world.canaries.text("blog"));
  await world.apply(through(name, "outside", { password: "blog-db" }));
  const outside = await world.untilReason("VaultSecret", "outside", "NamespaceNotAllowed");
  expect(condition(outside, "Ready")?.message).toContain("to read blog-db");
  expect(await world.get("Secret", "outside")).toBeUndefined();
  await apply(
    connection(`${name}-foreign`, { auth: { passwordSecretRef: { name: "vault-login" } } }),
  );
  const message = await untilConnection(
    `${name}-foreign`,
    "Ready",
    (reason) => reason === "CredentialsMissing",
  );
  expect(message).toContain(
    `Secret vault-login not found: create it with kubectl create secret generic vault-login -n vaultsync-system`,
  );
});

test("removals of a connection of the cluster are held until a user confirms them", async () => {
  const names = Array.from({ length: 6 }, (_, n) => `shop-many-${n}`);
  for (const one of names) await protect(one, world.canaries.text(one));
  await world.apply(
    ...names.map((one) => through(name, one, { password: one }, { whenMissing: "Delete" })),
  );
  for (const one of names) await world.ready("VaultSecret", one);
  for (const key_name of names)
    expect((await platform.call("delete", { key_name })).status).toBe(200);
  await untilConnection(name, "RemovalsHeld", (reason) => reason !== undefined);
  await kubectl("annotate", "cvconn", name, "vaultsync.dev/confirm-removals=6");
  await untilConnection(name, "RemovalsHeld", (reason) => reason === undefined);
  expect(
    await kubectl("get", "cvconn", name, "-o", "jsonpath={.metadata.annotations}"),
  ).not.toContain("confirm-removals");
});

/** Returns what a cluster-scoped resource shows of its namespaces once it is Ready. */
async function countsOf(plural: string, resource: string): Promise<unknown> {
  return waitUntil(`${plural}/${resource} is ready`, async () => {
    const { body } = await world.plane.request("GET", `${KINDS}/${plural}/${resource}`);
    const object = observedObject.parse(JSON.parse(body));
    return isReady(object) ? object.status?.["namespaces"] : undefined;
  });
}

/** Returns the target of the example in a namespace. */
async function imagesIn(namespace: string) {
  const path = `/api/v1/namespaces/${namespace}/secrets/images`;
  return observedObject.parse(JSON.parse((await world.plane.request("GET", path)).body));
}

test("examples/many-namespaces keeps a Secret in each namespace with the label", async () => {
  const password = world.canaries.text("registry");
  await protect("registry-password", password);
  await protect("registry-user", "puller");
  const example = (await readFile(EXAMPLE, "utf8")).replaceAll(
    "https://vault.example.com",
    world.vault.url,
  );
  const { code, stderr } = await world.plane.kubectl(["apply", "-f", "-"], { input: example });
  expect(code, stderr).toBe(0);
  const both = { selected: 2, ready: 2, failed: 0 };
  expect(await countsOf("clustervaultsecrets", "images")).toEqual(both);
  const auth = Buffer.from(`puller:${password}`).toString("base64");
  for (const namespace of ["team-red", "team-yellow"]) {
    const secret = await imagesIn(namespace);
    expect(secret.metadata["ownerReferences"]).toMatchObject([
      { kind: "ClusterVaultSecret", name: "images", controller: true, blockOwnerDeletion: true },
    ]);
    expect(JSON.parse(bytesOf(secret, ".dockerconfigjson")?.toString() ?? "")).toMatchObject({
      auths: { "registry.example.com": { auth } },
    });
    const events = (): Promise<string> =>
      kubectl("events", "--for", "clustervaultsecret/images", "-n", namespace);
    await expect.poll(events).toContain("TargetCreated");
  }
});

test("a ClusterVaultSecret deleted with --cascade=orphan leaves all targets with their marks", async () => {
  await kubectl("delete", "clustervaultsecret", "images", "--cascade=orphan");
  for (const namespace of ["team-red", "team-yellow"]) {
    const isOrphan = async (): Promise<boolean> =>
      (await imagesIn(namespace)).metadata["ownerReferences"] === undefined;
    await waitUntil("the target has no owner", isOrphan);
    const { metadata } = await imagesIn(namespace);
    expect(metadata.annotations["vaultsync.dev/owner"]).toBe("ClusterVaultSecret/images");
  }
});

test("a ClusterVaultFile keeps a ConfigMap in a namespace with the label", async () => {
  await apply(connection(name, { access: [{ namespaceSelector: { matchLabels }, files: ["*"] }] }));
  const file = world.canaries.text("file");
  const { status } = await platform.upload([{ filename: "ca.pem", bytes: Buffer.from(file) }]);
  expect(status).toBe(200);
  await apply(fannedOut("ClusterVaultFile", name, name, { "ca.crt": "ca.pem" }));
  await world.until("ConfigMap", name, ({ data }) => data["ca.crt"] === file);
  const one = { selected: 1, ready: 1, failed: 0 };
  expect(await countsOf("clustervaultfiles", name)).toEqual(one);
});

/** Reports whether a denial is of a write into a namespace that an earlier test deletes. */
const isTerminating = (message = ""): boolean => message.includes("is being terminated");

test("no request is denied, and each permission for cluster-scoped kinds is used", async () => {
  await world.operator.stop();
  const events = (await world.plane.auditEvents({ since: mark })).filter(
    ({ user }) => user.username === OPERATOR_USER,
  );
  const denied = events.filter(
    ({ responseStatus: { code, message } = {} }) => code === 403 && !isTerminating(message),
  );
  expect(denied.map(permissionOf)).toEqual([]);
  const used = new Set(events.map(permissionOf));
  const manifests = await manifestsOf(world.plane, "deploy/base", OPERATOR_NAMESPACE);
  const granted = manifests.filter(
    ({ metadata }) => metadata.name === "vaultsync-cluster-connections",
  );
  expect(permissionsOf(granted).size).toBe(14);
  // The API server checks the permission for finalizers when it creates an object with an owner.
  const requested = [...permissionsOf(granted)].filter((one) => !one.endsWith("/finalizers"));
  expect(requested.filter((permission) => !used.has(permission))).toEqual([]);
  const rules = granted.flatMap(({ rules: some = [] }) => some);
  for (const { permission, status, message } of await repeatWithout(world.plane, rules, events)) {
    expect(status).toBe(403);
    expect(message).toEqual(expect.stringContaining(denialOf(permission)));
  }
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

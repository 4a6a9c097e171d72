import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient } from "../../lab/vault/vault-client.ts";
import { ACCOUNT, OPERATOR_USER, World } from "../../lab/real/world.ts";
import { vaultConnection } from "../../lab/real/resources.ts";

/** One ClusterVaultSecret for namespaces that come and go, on a real API server. */
const PLATFORM = "platform@example.com";
const OPERATOR_NAMESPACE = "vaultsync-system";
const COUNT = 5;

let world: World;
let platform: VaultClient;
/** Name of the resource, the connection, and the label of its namespaces: unique. */
let name: string;
const namespaces: string[] = [];

beforeAll(async () => {
  const vault = await TestVault.start({ emails: [ACCOUNT, PLATFORM] });
  world = await World.create({ vault });
  platform = await vault.client(PLATFORM);
  name = `registry-${world.namespace}`;
  const password = vault.passwords.get(PLATFORM) ?? "";
  const [login] = vaultConnection(name, { password });
  await world.plane.apply([login], OPERATOR_NAMESPACE);
  await world.plane.apply([
    {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "ClusterVaultConnection",
      metadata: { name },
      spec: {
        url: vault.url,
        email: PLATFORM,
        auth: { passwordSecretRef: { name: `${name}-login` } },
        refreshInterval: "5s",
        access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["registry-*"] }],
      },
    },
  ]);
  for (let n = 0; n < COUNT; n += 1) {
    namespaces.push(await world.plane.createNamespace("fan-out"));
    await label(namespaces[n]!, `registry=${name}`);
  }
  await world.startClusterOperator();
});

afterAll(async () => {
  await kubectl("delete", "--ignore-not-found", "clustervaultsecrets", name);
  await kubectl("delete", "--ignore-not-found", "clustervaultconnections", name);
  const login = `${name}-login`;
  await kubectl("delete", "--ignore-not-found", "-n", OPERATOR_NAMESPACE, "secret", login);
  await world[Symbol.asyncDispose]();
});

const kubectl = (...args: string[]): Promise<string> => world.plane.kubectlOutput(args);
const label = (namespace: string, change: string): Promise<string> =>
  kubectl("label", "--overwrite", "namespace", namespace, change);

const resource = (changes: object = {}): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "ClusterVaultSecret",
  metadata: { name },
  spec: {
    connectionRef: { kind: "ClusterVaultConnection", name },
    namespaceSelector: { matchLabels: { registry: name } },
    data: [{ secretKey: "password", remoteRef: { key: "registry-login" } }],
    target: { name: "registry" },
    ...changes,
  },
});

const secret = z.object({
  metadata: z.object({ ownerReferences: z.array(z.object({ kind: z.string() })).optional() }),
  data: z.record(z.string(), z.string()),
});

/** Returns the Secret of a namespace; `undefined` if there is none. */
async function secretIn(namespace: string): Promise<z.output<typeof secret> | undefined> {
  const path = `/api/v1/namespaces/${namespace}/secrets/registry`;
  const { status, body } = await world.plane.request("GET", path);
  return status === 404 ? undefined : secret.parse(JSON.parse(body));
}

/** Waits until the Secrets of these namespaces have a value. */
const have = (value: string, among: readonly string[] = namespaces): Promise<unknown> =>
  waitUntil("the targets have the value", async () => {
    const found = await Promise.all(among.map(secretIn));
    const expected = Buffer.from(value).toString("base64");
    return found.every((one) => one?.data["password"] === expected);
  });

const wait = (...condition: string[]): Promise<string> =>
  kubectl("wait", "clustervaultsecret", name, "--timeout=30s", ...condition);

async function protect(value: string): Promise<void> {
  const key_name = "registry-login";
  expect((await platform.call("protect", { key_name, key_value: value })).status).toBe(200);
}

test("each selected namespace gets the Secret, for one read and one write each", async () => {
  const [first, second] = [world.canaries.text("first"), world.canaries.text("second")];
  await protect(first);
  await world.plane.apply([resource()]);
  await have(first);
  await wait("--for=condition=Ready");
  expect(await kubectl("get", "cvsec", name)).toMatch(
    new RegExp(`^${name}\\s+True\\s+Synced\\s+${COUNT}\\s+${COUNT}\\s`, "m"),
  );
  const mark = await world.plane.auditMark();
  await protect(second);
  await have(second);
  const writes = (await world.plane.auditEvents({ since: mark })).filter(
    ({ user, objectRef, verb }) =>
      user.username === OPERATOR_USER &&
      objectRef?.resource === "secrets" &&
      !["get", "list", "watch"].includes(verb),
  );
  expect(writes.map(({ verb, objectRef }) => `${verb} ${objectRef?.namespace}`).sort()).toEqual(
    namespaces.map((namespace) => `patch ${namespace}`).sort(),
  );
  expect(writes.filter(({ responseStatus }) => responseStatus?.code !== 200)).toEqual([]);
});

test("a namespace that loses its label keeps its Secret when the resource is deleted", async () => {
  const [kept, ...others] = namespaces;
  await label(kept!, "registry-");
  await waitUntil("the Secret has no owner", async () => {
    const found = await secretIn(kept!);
    return found !== undefined && (found.metadata.ownerReferences ?? []).length === 0;
  });
  await label(kept!, `registry=${name}`);
  const again = world.canaries.text("again");
  await protect(again);
  await have(again);
  await label(kept!, "registry-");
  await waitUntil("the status counts one namespace less", async () => {
    const jsonpath = "-o=jsonpath={.status.namespaces.selected}";
    return (await kubectl("get", "cvsec", name, jsonpath)) === String(others.length);
  });
  await kubectl("delete", "clustervaultsecret", name);
  await waitUntil("the other Secrets are deleted", async () => {
    const found = await Promise.all(others.map(secretIn));
    return found.every((one) => one === undefined);
  });
  await have(again, [kept!]);
  expect((await secretIn(kept!))?.metadata.ownerReferences ?? []).toEqual([]);
});

/** Returns what kubectl says about a resource that the API server rejects. */
const refused = async (changes: object): Promise<string> =>
  (await world.tryApply(resource(changes))).stderr;

test("the API server refuses what the resource does not offer", async () => {
  expect(await refused({ namespaceSelector: undefined })).toContain(
    "spec.namespaces or spec.namespaceSelector must select namespaces",
  );
  expect(await refused({ connectionRef: { name } })).toContain("spec.connectionRef.kind");
  expect(await refused({ target: { name: "registry", creationPolicy: "Merge" } })).toContain(
    'Unsupported value: "Merge"',
  );
});

/**
 * Reports whether a request is about these tests: others of this control plane end namespaces, in
 * which events are refused then.
 */
const concerns = (namespace = "", plural = ""): boolean =>
  namespaces.includes(namespace) || plural.startsWith("clustervault");

test("no request was denied, and no output has a value", async () => {
  await world.operator.stop();
  const denied = (await world.plane.auditEvents({ since: 0 })).filter(
    ({ user, objectRef, responseStatus }) =>
      user.username === OPERATOR_USER &&
      responseStatus?.code === 403 &&
      concerns(objectRef?.namespace, objectRef?.resource),
  );
  expect(denied).toEqual([]);
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

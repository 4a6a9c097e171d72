import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { installVaultRelease } from "../../scripts/cluster/install.ts";
import { protectValue } from "../../scripts/demo/vault-account.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { versionExpose, versionList } from "../../src/protocol/operations/secrets.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { vaultRelease } from "../lab/helm/helm.ts";
import { NodeCluster } from "../lab/node/node-cluster.ts";
import { bytesOf, collection, observedObject, vaultSecret } from "../lab/real/resources.ts";
import { signalContainer } from "./support/containers.ts";
import { startPostgres } from "./support/postgres-pod.ts";
import { isPodReady, podsOf, type Pod } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 120_000, interval: 500 };
const nodePort = 30_444;
const key = "postgres-db";

let cluster: NodeCluster;
let database: string;
let vaults: string;
let namespace: NodeNamespace;
beforeAll(async () => {
  cluster = await NodeCluster.open(inject("controlPlane"));
  vaults = await cluster.createNamespace("vaults");
  database = await cluster.createNamespace("database");
  await startPostgres(cluster, database, vaults);
  await cluster.addVolumes(["postgres-audit-0", "postgres-audit-1"]);
  const values = ["postgres.enabled=true", "replicas=2"];
  const release = { ...vaultRelease, namespace: vaults };
  const vault = await installVaultRelease(cluster, release, nodePort, values);
  namespace = await NodeNamespace.create("postgres", {
    ...vault,
    password: vault.password.reveal(),
  });
}, 300_000);

/** Alerts of other tests are about all connections. */
afterAll(async () => {
  const all = [namespace.name, vaults, database];
  await cluster.kubectlOutput(["delete", "namespace", ...all, "--timeout=120s"]);
});

const replicas = (): Promise<Pod[]> =>
  podsOf(cluster, vaults, "app.kubernetes.io/name=vaultsync-vault");

const databases = (): Promise<Pod[]> => podsOf(cluster, database, "app=postgres");

const restartsOf = (pods: readonly Pod[]): unknown[] =>
  pods.map(({ status }) => status.containerStatuses[0]?.restartCount);

const bothReady = async (): Promise<boolean> => {
  const pods = await replicas();
  return pods.length === 2 && pods.every(isPodReady);
};

interface Seen {
  /** Values by version, as the vault acknowledged them. */
  readonly acknowledged: Map<number, string>;
  /** Values whose request failed: each is stored once or never. */
  readonly failed: Set<string>;
  /** Values that the target had, in order. */
  readonly target: string[];
}

/** Stores versions until the signal is aborted. */
async function write({ acknowledged, failed }: Seen, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    const value = `canary-${namespace.name}-${count}`;
    failed.add(value);
    const stored = await protectValue(namespace.vault, key, new Redacted(value)).catch(() => {});
    if (stored !== undefined) {
      failed.delete(value);
      if (acknowledged.has(stored.version))
        throw new Error(`version ${stored.version} was acknowledged twice`);
      acknowledged.set(stored.version, value);
    }
    await sleep(100);
  }
}

/** Reads the target until the signal is aborted. */
async function watch({ target }: Seen, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { body } = await cluster.request("GET", `${collection("Secret", namespace.name)}/db`);
    const value = bytesOf(observedObject.parse(JSON.parse(body)), "password")?.toString() ?? "";
    if (target.at(-1) !== value) target.push(value);
    await sleep(50);
  }
}

/** Waits until the target has a version that is stored from now on. */
async function expectSync({ acknowledged, target }: Seen): Promise<void> {
  const before = new Set(acknowledged.values());
  const isNew = (value: string): boolean => !before.has(value);
  const synced = (): boolean =>
    [...acknowledged.values()].some((value) => isNew(value) && target.includes(value));
  await expect.poll(synced, slow).toBe(true);
}

/** Repeats a request that a replica without a database, or with too many requests, rejects. */
const responds = <Result>(call: () => Promise<Result>): Promise<Result> =>
  waitUntil("the vault responds", call);

/** Returns the values of all versions, by version. */
async function storedVersions(): Promise<Map<number, string>> {
  const name = { key_name: key };
  const { versions } = await responds(() => namespace.vault.call(versionList, name));
  const values = new Map<number, string>();
  for (const { key_version } of versions) {
    const request = { ...name, key_version };
    const { key_value } = await responds(() => namespace.vault.call(versionExpose, request));
    values.set(key_version, key_value);
  }
  expect(values.size).toBe(versions.length);
  return values;
}

function kill(pod: Pod | undefined): void {
  if (pod !== undefined) signalContainer(cluster, pod, "SIGKILL");
}

test("killed replicas and a killed database lose no version and store none twice", async () => {
  const first = await namespace.protect(key);
  await namespace.apply(vaultSecret("db", { password: key }));
  await namespace.secretHas("db", "password", first);
  const seen: Seen = { acknowledged: new Map([[1, first]]), failed: new Set(), target: [] };
  const stop = new AbortController();
  const running = Promise.all([write(seen, stop.signal), watch(seen, stop.signal)]);
  await expectSync(seen);
  const [killed, deleted] = await replicas();
  kill(killed);
  await expectSync(seen);
  await expect.poll(async () => restartsOf(await replicas()), slow).toEqual([1, 0]);
  await expect.poll(bothReady, slow).toBe(true);
  const name = deleted?.metadata.name ?? "";
  await cluster.kubectlOutput(["delete", "pod", name], { namespace: vaults });
  await expectSync(seen);
  await expect.poll(bothReady, slow).toBe(true);
  kill((await databases())[0]);
  await expect.poll(async () => restartsOf(await databases()), slow).toEqual([1]);
  await expectSync(seen);
  await expect.poll(bothReady, slow).toBe(true);
  stop.abort();
  await running;

  const { acknowledged, failed, target } = seen;
  const stored = await storedVersions();
  const values = [...stored.values()];
  await namespace.secretHas("db", "password", values.at(-1) ?? "");
  expect([...stored.keys()]).toEqual(values.map((_, index) => index + 1));
  expect(Object.fromEntries(stored)).toMatchObject(Object.fromEntries(acknowledged));
  expect(new Set(values).size).toBe(values.length);
  const others = [...stored].filter(([version]) => !acknowledged.has(version));
  expect(others.filter(([, value]) => !failed.has(value))).toEqual([]);
  // The target never went back to an older version.
  const order = target.map((value) => values.indexOf(value));
  expect(order).toEqual(order.toSorted((one, other) => one - other));
  expect(order).not.toContain(-1);
});

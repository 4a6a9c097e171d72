import { globSync, readlinkSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { nodeName } from "../lab/node/layout.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { signalContainer } from "./support/containers.ts";
import {
  leadingOperator,
  operatorPods,
  operatorProcesses,
  readyOperators,
} from "./support/operator-pods.ts";
import type { Pod, Reader } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 120_000, interval: 500 };

let namespace: NodeNamespace;
let reader: Reader;
let id: string;
beforeEach(async () => {
  namespace = await NodeNamespace.create("operator");
  await namespace.protect(key());
  await namespace.apply(vaultSecret("db", { password: key() }));
  await namespace.run("Deployment", "app", {
    mounts: [{ name: "secret", mountPath: "/secret", readOnly: true }],
    volumes: [{ name: "secret", secret: { secretName: "db" } }],
  });
  reader = await namespace.reader("app");
  id = await reader.id();
});

const key = (): string => `${namespace.name}-db`;

const operators = (): Promise<Pod[]> => operatorPods(namespace.cluster);

const leader = (): Promise<Pod> => leadingOperator(namespace.cluster);

/** Expects a new version in the volume of the same process as before. */
async function expectSync(): Promise<void> {
  const value = await namespace.protect(key());
  await expect.poll(() => reader.text("/secret/password"), slow).toBe(value);
  expect(await (await namespace.reader("app")).id()).toBe(id);
}

const bothReady = (): Promise<boolean[]> => readyOperators(namespace.cluster);

/** Returns the process id of containerd. */
function containerdProcess(): string | undefined {
  return globSync("/proc/[0-9]*/exe").find((path) => {
    try {
      return readlinkSync(path).endsWith("/containerd");
    } catch {
      return false; // It has ended.
    }
  });
}

test("the other replica leads when the leader's pod is deleted", async () => {
  const { metadata } = await leader();
  await namespace.inSystem("delete", "pod", metadata.name);
  await expectSync();
  expect((await leader()).metadata.uid).not.toBe(metadata.uid);
  await expect.poll(bothReady, slow).toEqual([true, true]);
});

test("the leader's container is restarted after kill -9, and changes are synced", async () => {
  const { metadata, ...pod } = await leader();
  const former = pod.status.containerStatuses[0]?.restartCount ?? 0;
  signalContainer(namespace.cluster, { metadata, ...pod }, "SIGKILL");
  await expectSync();
  const restarts = async (): Promise<unknown> =>
    (await operators()).find((one) => one.metadata.uid === metadata.uid)?.status
      .containerStatuses[0]?.restartCount;
  await expect.poll(restarts, slow).toBe(former + 1);
  await expect.poll(bothReady, slow).toEqual([true, true]);
});

const identities = (): Promise<unknown[]> => operatorProcesses(namespace.cluster);

test("a restart of containerd restarts neither operator nor workload", async () => {
  const before = await identities();
  const former = containerdProcess();
  await namespace.cluster.restartContainerd();
  expect(containerdProcess()).not.toBe(former);
  await expectSync();
  expect(await identities()).toEqual(before);
});

test("a change while the kubelet is stopped for a minute is in the volume afterwards", async () => {
  await namespace.cluster.stopKubelet();
  const value = await namespace.protect(key());
  await namespace.secretHas("db", "password", value);
  const ready = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
  const node = (): Promise<string> => namespace.kubectl("get", "node", nodeName, "--output", ready);
  // The cluster then removes its pods from their Services, also the vault's.
  await expect.poll(node, { timeout: 120_000, interval: 1000 }).toBe("Unknown");
  expect(await reader.text("/secret/password")).not.toBe(value);
  const before = await identities();
  await namespace.cluster.startKubelet();
  await expect.poll(() => reader.text("/secret/password"), slow).toBe(value);
  await expect.poll(node, slow).toBe("True");
  expect(await (await namespace.reader("app")).id()).toBe(id);
  await expect.poll(bothReady, slow).toEqual([true, true]);
  expect(await identities()).toEqual(before);
  await expectSync();
});

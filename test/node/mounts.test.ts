import { beforeAll, expect, test } from "vitest";
import { exampleFile } from "../../scripts/demo/vault-account.ts";
import { vaultSecret } from "../lab/real/resources.ts";
import { readyOperators, system } from "./support/operator-pods.ts";
import { podsOf, readerPod, type ReaderSpec } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

let namespace: NodeNamespace;
let password: string;
beforeAll(async () => {
  namespace = await NodeNamespace.create("mounts");
  password = await namespace.protect("mounts-db");
  await namespace.vault.upload(
    new Map([["mounts-logo.png", new Blob([await exampleFile("logo.png")])]]),
  );
  await namespace.apply(vaultSecret("db", { password: "mounts-db" }), {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultFile",
    metadata: { name: "web" },
    spec: {
      connectionRef: { name: "vault" },
      files: [{ filename: "mounts-logo.png" }],
      target: { kind: "ConfigMap" },
    },
  });
});

const everyWay: ReaderSpec = {
  env: [{ name: "DB", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
  envFrom: [{ prefix: "ALL_", secretRef: { name: "db" } }],
  mounts: [
    { name: "secret", mountPath: "/secret", readOnly: true },
    { name: "secret", mountPath: "/single", subPath: "password", readOnly: true },
    { name: "files", mountPath: "/files", readOnly: true },
  ],
  volumes: [
    { name: "secret", secret: { secretName: "db" } },
    { name: "files", configMap: { name: "web" } },
  ],
};

/** Returns what the process of a workload reads in every way. */
async function readings(name: string): Promise<object> {
  const reader = await namespace.reader(name);
  return {
    env: await reader.env("DB"),
    envFrom: await reader.env("ALL_password"),
    volume: await reader.text("/secret/password"),
    subPath: await reader.text("/single"),
    file: await reader.file("/files/mounts-logo.png"),
  };
}

async function vaultBytes(): Promise<object> {
  const file = await exampleFile("logo.png");
  return { env: password, envFrom: password, volume: password, subPath: password, file };
}

test.each(["Deployment", "StatefulSet"] as const)(
  "a %s reads the vault's bytes by env, envFrom, volume, subPath and ConfigMap",
  async (kind) => {
    const name = kind.toLowerCase();
    await namespace.run(kind, name, everyWay);
    expect(await readings(name)).toEqual(await vaultBytes());
  },
);

test("a run of a CronJob reads the vault's bytes and completes", async () => {
  const pod = readerPod({ ...everyWay, restartPolicy: "Never" });
  await namespace.apply({
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "nightly" },
    spec: {
      schedule: "0 3 * * *",
      jobTemplate: {
        spec: { template: { metadata: { labels: { app: "nightly" } }, spec: pod } },
      },
    },
  });
  await namespace.kubectl("create", "job", "now", "--from=cronjob/nightly");
  expect(await readings("nightly")).toEqual(await vaultBytes());
  await (await namespace.reader("nightly")).exit();
  await namespace.kubectl("wait", "--for=condition=Complete", "--timeout=60s", "job/now");
});

test("a pod that starts before its Secret exists waits for it, and then reads it", async () => {
  await namespace.run("Deployment", "early", {
    env: [{ name: "DB", valueFrom: { secretKeyRef: { name: "late", key: "password" } } }],
  });
  const waits = async (): Promise<string | undefined> => {
    const [pod] = await podsOf(namespace.cluster, namespace.name, "app=early");
    return pod?.status.containerStatuses[0]?.state.waiting?.reason;
  };
  await expect.poll(waits, { timeout: 60_000 }).toBe("CreateContainerConfigError");
  const value = await namespace.protect("mounts-late");
  await namespace.apply(vaultSecret("late", { password: "mounts-late" }));
  const reader = await namespace.reader("early");
  expect(await reader.env("DB")).toBe(value);
  expect(reader.pod.status.containerStatuses[0]?.restartCount).toBe(0);
});

test("an optional Secret that appears later is in the volume of the running pod", async () => {
  await namespace.run("Deployment", "tolerant", {
    env: [
      {
        name: "DB",
        valueFrom: { secretKeyRef: { name: "optional", key: "password", optional: true } },
      },
    ],
    mounts: [{ name: "secret", mountPath: "/secret", readOnly: true }],
    volumes: [{ name: "secret", secret: { secretName: "optional", optional: true } }],
  });
  const reader = await namespace.reader("tolerant");
  expect(await reader.env("DB")).toBeUndefined();
  expect(await reader.file("/secret/password")).toBeUndefined();
  const value = await namespace.protect("mounts-optional");
  await namespace.apply(vaultSecret("optional", { password: "mounts-optional" }));
  await expect.poll(() => reader.text("/secret/password"), { timeout: 120_000 }).toBe(value);
  expect((await namespace.reader("tolerant")).pod.metadata.uid).toBe(reader.pod.metadata.uid);
  expect(await reader.env("DB")).toBeUndefined();
});

test("both pods of the operator run under Pod Security restricted", async () => {
  expect(await readyOperators(namespace.cluster)).toEqual([true, true]);
  const label = "jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce}";
  expect(await namespace.kubectl("get", "namespace", system, "--output", label)).toBe("restricted");
});

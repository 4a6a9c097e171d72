import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { image } from "../../scripts/cluster/image.ts";
import { issuerOf } from "../../scripts/cluster/install.ts";
import { account, exampleFile } from "../../scripts/demo/vault-account.ts";
import { vaultRelease } from "../lab/helm/helm.ts";
import { sandboxImage } from "../lab/node/supervisor/node-files.ts";
import { readerProgram, readinessProbe } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const examples = join(import.meta.dirname, "../../examples/pod-mode");
const slow = { timeout: 120_000, interval: 500 };

let namespace: NodeNamespace;
const values: string[] = [];

/** Stores a new version of the value of the example, and returns it. */
async function protect(deleteTimeMinutes?: number): Promise<string> {
  const value = await namespace.protect("shop/db", undefined, deleteTimeMinutes);
  values.push(value);
  return value;
}

/** Runs a command in the pod of the vault. */
const inVault = (...args: readonly string[]): Promise<string> =>
  namespace.cluster.kubectlOutput(
    ["exec", "vault-0", "--", "/usr/local/bin/node", "/app/dist/main.js", "vault", ...args],
    { namespace: vaultRelease.namespace },
  );

beforeAll(async () => {
  namespace = await NodeNamespace.empty("pods");
  const enforce = "pod-security.kubernetes.io/enforce=restricted";
  await namespace.kubectl("label", "namespace", namespace.name, enforce);
  const issuer = await issuerOf(namespace.cluster);
  const workload = ["--issuer", issuer, "--service-account", `${namespace.name}/shop`];
  await inVault("identity", "add", account, ...workload);
  await namespace.vault.upload(new Map([["app.conf", new Blob([await exampleFile("app.conf")])]]));
});

interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
}

interface ExampleObject {
  kind: string;
  metadata: { name: string; namespace?: string };
  data?: Record<string, string>;
  spec?: {
    template: {
      spec: { initContainers?: Container[]; containers: Container[]; volumes: { name: string }[] };
    };
  };
}

const registry = /registry\.example\.com\/vaultsync:[0-9.]+/gu;

/** Returns the objects of an example with the vault, image and namespace of the test. */
async function example(
  file: string,
  adapt: (container: Container) => object,
): Promise<ExampleObject[]> {
  const { url, ca } = inject("vault");
  const text = (await readFile(join(examples, file), "utf8"))
    .replaceAll("https://vault.example.com", url)
    .replaceAll("namespace: shop", `namespace: ${namespace.name}`)
    .replaceAll(registry, image);
  return parseAllDocuments(text).map((document) => {
    const object: ExampleObject = document.toJS();
    delete object.metadata.namespace;
    if (object.kind === "ConfigMap") object.data = { ...object.data, "ca.crt": ca };
    const pod = object.spec?.template.spec;
    for (const one of pod?.initContainers ?? [])
      Object.assign(one, { args: [...(one.args ?? []), ...trust], imagePullPolicy: "Never" });
    for (const one of pod?.containers ?? [])
      Object.assign(one, { imagePullPolicy: "Never", readinessProbe, ...adapt(one) });
    return object;
  });
}

/** The first process of a container ignores SIGTERM unless it handles it. */
const program = `process.on("SIGTERM", () => process.exit());${readerProgram}`;

const trust = ["--ca-file=/manifests/ca.crt", "--interval=2"];

const secretsOf = async (): Promise<string> =>
  namespace.kubectl("get", "secrets", "--output=jsonpath={.items[*].metadata.name}");

/** Returns the logs of all containers of the namespace, and all of its objects. */
async function everything(): Promise<string> {
  const pods = await namespace.kubectl(
    "get",
    "pods",
    "--output=jsonpath={.items[*].metadata.name}",
  );
  const logs = pods
    .split(" ")
    .map((pod) => namespace.kubectl("logs", pod, "--all-containers", "--ignore-errors"));
  const kinds = "configmaps,deployments,replicasets,pods,events,secrets,serviceaccounts";
  const objects = namespace.kubectl("get", kinds, "--output=yaml", "--show-managed-fields");
  return [...(await Promise.all(logs)), await objects].join("\n");
}

test("a pod without a Secret reads the vault by fileKeyRef and files, and a sidecar follows", async () => {
  const first = await protect();
  await namespace.apply(
    ...(await example("pod-mode.yaml", () => ({
      image,
      command: ["/usr/local/bin/node", "--eval", program],
    }))),
  );
  const reader = await namespace.reader("catalog");
  const id = await reader.id();
  expect(await reader.env("DB_PASSWORD")).toBe(first);
  expect(await reader.text("/values/files/catalog-env/DB_PASSWORD")).toBe(first);
  const conf = await exampleFile("app.conf");
  expect(await reader.file("/values/files/catalog-conf/app.conf")).toEqual(conf);

  const second = await protect();
  await expect.poll(() => reader.text("/values/files/catalog-env/DB_PASSWORD"), slow).toBe(second);
  expect(await reader.text("/values/catalog.env")).toBe(`DB_PASSWORD='${second}'\n`);
  expect(await reader.env("DB_PASSWORD")).toBe(first);
  expect(await reader.id()).toBe(id);

  // A restarted container gets its environment from the file.
  await reader.exit();
  const restarted = await namespace.reader("catalog", id);
  expect(restarted.pod.metadata.uid).toBe(reader.pod.metadata.uid);
  expect(await restarted.env("DB_PASSWORD")).toBe(second);
  expect(restarted.pod.status.initContainerStatuses).toMatchObject([
    { name: "vault-values", restartCount: 0 },
    { name: "vault-watch", restartCount: 0 },
  ]);
  expect(await secretsOf()).toBe("");
});

test("a value leaves the files of the running pod at its delete_time", async () => {
  await protect(1);
  const reader = await namespace.reader("catalog");
  await expect
    .poll(() => reader.text("/values/files/catalog-env/DB_PASSWORD"), { ...slow, timeout: 180_000 })
    .toBeUndefined();
  expect(await reader.text("/values/catalog.env")).toBe("");
  expect(await reader.file("/values/files/catalog-conf/app.conf")).toBeDefined();
  await protect();
});

test("a program whose image has no file of Node runs with vaultsync of an image volume", async () => {
  const first = await protect();
  const loader = (await example("run.yaml", () => ({})))[0]?.spec?.template.spec.containers[0];
  const node = loader?.command?.slice(0, 4) ?? [];
  await namespace.apply(
    ...(await example("run.yaml", ({ command = [] }) => {
      const at = command.indexOf("--");
      return {
        image: sandboxImage,
        command: [...command.slice(0, at), ...trust, "--"],
        args: [...node, "--eval", program],
      };
    })),
  );
  const reader = await namespace.reader("catalog-worker");
  expect(await reader.env("DB_PASSWORD")).toBe(first);
  const id = await reader.id();
  const directory = await reader.env("VAULTSYNC_FILES");
  const conf = await exampleFile("app.conf");
  expect(await reader.file(`${directory}/catalog-conf/app.conf`)).toEqual(conf);
  const second = await protect();
  const next = await namespace.reader("catalog-worker", id);
  expect(await next.env("DB_PASSWORD")).toBe(second);
  expect(next.pod.metadata.uid).toBe(reader.pod.metadata.uid);
});

test("a deleted pod ends without its grace period, and no log or object has a value", async () => {
  expect(await secretsOf()).toBe("");
  const seen = await everything();
  expect(values.length).toBeGreaterThan(4);
  expect(values.filter((value) => seen.includes(value))).toEqual([]);
  // Every JWT of Kubernetes starts with the same characters.
  expect(seen).not.toMatch(/eyJhbGci/u);
  expect(seen).toContain("vaultsync: wrote catalog-env, catalog-conf");
  await namespace.kubectl("scale", "deployment/catalog", "--replicas=0");
  await namespace.kubectl("wait", "--for=delete", "--timeout=25s", "pod", "--selector=app=catalog");
});

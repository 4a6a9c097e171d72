import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { expose } from "../../src/protocol/operations/secrets.ts";
import type { ProgramResult } from "../lab/processes/run-to-end.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Helm, vaultRelease } from "../lab/helm/helm.ts";
import { isReady, observedObject, reports, vaultSecret } from "../lab/real/resources.ts";
import { isPodReady, podsOf } from "./support/reader.ts";
import { NodeNamespace } from "./support/scene.ts";

const slow = { timeout: 120_000, interval: 500 };

let namespace: NodeNamespace;
beforeAll(async () => {
  namespace = await NodeNamespace.create("limits");
});

const volumeOf = (secretName: string): object[] => [{ name: "secret", secret: { secretName } }];
const mounts = [{ name: "secret", mountPath: "/secret", readOnly: true }];

test("a pod reads a file of almost 1 MiB from the volume of its Secret", async () => {
  const bytes = randomBytes(1_000_000);
  await namespace.vault.upload(new Map([["limits.bin", new Blob([bytes])]]));
  await namespace.apply({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultFile",
    metadata: { name: "large" },
    spec: {
      connectionRef: { name: "vault" },
      files: [{ filename: "limits.bin" }],
      target: { kind: "Secret" },
    },
  });
  await namespace.run("Deployment", "large", { mounts, volumes: volumeOf("large") });
  const reader = await namespace.reader("large");
  expect((await reader.file("/secret/limits.bin"))?.equals(bytes)).toBe(true);
});

test("an immutable target that was created again is read when no pod uses the former one", async () => {
  const first = await namespace.protect("limits-fixed");
  await namespace.apply(vaultSecret("fixed", { password: "limits-fixed" }, { immutable: true }));
  await namespace.run("Deployment", "fixed", { mounts, volumes: volumeOf("fixed") });
  const before = await namespace.reader("fixed");
  expect(await before.text("/secret/password")).toBe(first);
  const second = await namespace.protect("limits-fixed");
  const resource = async () =>
    observedObject.parse(
      JSON.parse(await namespace.kubectl("get", "vaultsecret", "fixed", "--output=json")),
    );
  await expect.poll(async () => reports(await resource(), "TargetImmutable"), slow).toBe(true);
  expect(await before.text("/secret/password")).toBe(first);
  await namespace.kubectl("delete", "secret", "fixed");
  await namespace.secretHas("fixed", "password", second);
  await expect.poll(async () => isReady(await resource()), slow).toBe(true);
  await namespace.kubectl("rollout", "restart", "deployment/fixed");
  // The kubelet serves what it knows of an immutable Secret while a pod of its node uses that.
  const next = await namespace.reader("fixed", await before.id());
  expect(await next.text("/secret/password")).toBe(first);
  await namespace.kubectl("scale", "deployment/fixed", "--replicas=0");
  const pods = (): Promise<unknown[]> => podsOf(namespace.cluster, namespace.name, "app=fixed");
  await expect.poll(pods, slow).toEqual([]);
  await namespace.kubectl("wait", "--for=delete", "--timeout=60s", `pod/${next.pod.metadata.name}`);
  await namespace.kubectl("scale", "deployment/fixed", "--replicas=1");
  const last = await namespace.reader("fixed");
  expect(await last.text("/secret/password")).toBe(second);
});

const vaultPods = () =>
  podsOf(namespace.cluster, vaultRelease.namespace, "app.kubernetes.io/name=vaultsync-vault");

/** Waits until the vault has a ready pod that is reachable, and reads a secret from it. */
async function valueInNewPod(key_name: string): Promise<string> {
  await expect.poll(async () => (await vaultPods()).map(isPodReady), slow).toEqual([true]);
  const read = () => namespace.vault.call(expose, { key_name });
  return (await waitUntil("the vault is reachable from this machine", read)).key_value;
}

test("a vault that was deleted starts with the same data, and the operator logs in again", async () => {
  const first = await namespace.protect("limits-kept");
  await namespace.apply(vaultSecret("kept", { password: "limits-kept" }));
  await namespace.secretHas("kept", "password", first);
  const vault = { namespace: vaultRelease.namespace };
  await namespace.cluster.kubectlOutput(["delete", "pod", "vault-0"], vault);
  expect(await valueInNewPod("limits-kept")).toBe(first);
  await namespace.secretHas("kept", "password", await namespace.protect("limits-kept"));
});

test("an upgrade of the vault's chart keeps its data, and the operator logs in again", async () => {
  const first = await namespace.protect("limits-upgraded");
  await namespace.apply(vaultSecret("upgraded", { password: "limits-upgraded" }));
  await namespace.secretHas("upgraded", "password", first);
  const former = (await vaultPods()).map(({ metadata }) => metadata.uid);
  await using helm = await Helm.create(namespace.cluster.kubeconfigPath);
  const { name, chart, namespace: of } = vaultRelease;
  const changes = ["--reuse-values", "--set=podAnnotations.upgraded=yes"];
  const args = ["upgrade", name, chart, `--namespace=${of}`, ...changes, "--wait", "--timeout=3m"];
  expect(await helm.run(args)).toMatchObject({ code: 0, stderr: "" });
  expect((await vaultPods()).map(({ metadata }) => metadata.uid)).not.toEqual(former);
  expect(await valueInNewPod("limits-upgraded")).toBe(first);
  await namespace.secretHas("upgraded", "password", await namespace.protect("limits-upgraded"));
});

test("a backup is written and verified in the pod of the running vault", async () => {
  await namespace.protect("limits-backup");
  const vault = { namespace: vaultRelease.namespace };
  const program = ["/usr/local/bin/node", "/app/dist/main.js", "vault"];
  const inPod = (...args: readonly string[]): Promise<ProgramResult> =>
    namespace.cluster.kubectl(["exec", "vault-0", "--", ...program, ...args], vault);
  const backup = "/data/node.backup";
  expect((await inPod("backup", `--to=${backup}`)).code).toBe(0);
  expect(await inPod("restore", `--from=${backup}`, "--verify")).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/made at .+, \d+ rows, master key [0-9a-f]+/u),
  });
});

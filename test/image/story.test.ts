import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { adaptToTls } from "../../scripts/cluster/with-vaultsync.ts";
import { ClusterView } from "../../scripts/demo/cluster-view.ts";
import { demoNamespace } from "../../scripts/demo/vault-account.ts";
import type { Stage } from "../../scripts/demo/setup.ts";
import { runStory } from "../../scripts/demo/story.ts";
import { fillVault, logInAsShop } from "../../scripts/demo/vault-account.ts";
import type { StartTime } from "../../scripts/image/start-time.ts";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { installOperator, type AdmittedPod } from "./support/admitted-pod.ts";
import type { ConfinedContainer } from "./support/confined-container.ts";
import { startOperatorContainer, VaultContainer } from "./support/containers.ts";
import { imageFiles } from "./support/image-files.ts";

/**
 * The demo, with the image in containers: the operator as the pod that the API server has admitted
 * under Pod Security restricted, with the token of its ServiceAccount and nothing else, and the
 * vault by https, since the Deployment does not allow http.
 */
const { root } = inject("image").unpacked;
const files = await imageFiles(root);
const owned = new AsyncDisposableStack();
let controlPlane: ControlPlane;
let pod: AdmittedPod;
let vault: VaultContainer;
let operator: { container: ConfinedContainer; url: string; time: StartTime };

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  pod = await installOperator(controlPlane);
  vault = owned.use(await VaultContainer.create(controlPlane.directory));
  const vaultTime = await vault.start();
  operator = await startOperatorContainer(controlPlane, pod);
  owned.use(operator.container);
  report("vault", vaultTime);
  report("operator", operator.time);
});
afterAll(() => owned.disposeAsync());

function logOf(container: ConfinedContainer): Stage["operator"]["log"] {
  return { place: "the log of the container", read: () => container.log() };
}

function report(name: string, { healthy, ready }: StartTime): void {
  process.stdout.write(
    `${name}: /healthz after ${Math.round(healthy)} ms, /readyz after ${Math.round(ready)} ms\n`,
  );
}

const inMiB = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

async function reportMemory(when: string): Promise<void> {
  const [ofOperator, ofVault] = await Promise.all([
    operator.container.memory(),
    vault.container.memory(),
  ]);
  process.stdout.write(`memory ${when}: operator ${inMiB(ofOperator)}, vault ${inMiB(ofVault)}\n`);
}

test(
  "the demo's story passes with operator and vault in containers",
  { timeout: 300_000 },
  async () => {
    await reportMemory("idle");
    const loggedIn = await logInAsShop(vault.url, vault.password);
    await using view = await ClusterView.open(controlPlane.kubeconfigPath, demoNamespace);
    const stage: Stage = {
      options: { local: false, once: true, verbose: false, vaultPort: 0, help: false },
      controlPlane,
      operator: { url: operator.url, log: logOf(operator.container) },
      vault: {
        url: vault.url,
        ca: vault.ca,
        metricsUrl: vault.metricsUrl,
        log: logOf(vault.container),
        password: vault.password,
        account: loggedIn,
        content: await fillVault(loggedIn),
      },
      view,
      adaptExample: (text) => adaptToTls(text, vault),
      signal: new AbortController().signal,
    };
    await expect(runStory(stage)).resolves.toBeUndefined();
    await reportMemory("after the story");
  },
);

test(
  "the operator syncs 1,000 resources within the memory limit of its pod",
  { timeout: 600_000 },
  async () => {
    const resources = `/apis/vaultsync.dev/v1alpha1/namespaces/${demoNamespace}/vaultsecrets`;
    const indexes = Array.from({ length: 1000 }, (_, index) => index).values();
    const create = async (): Promise<void> => {
      for (const index of indexes) {
        const spec = {
          connectionRef: { name: "vault" },
          data: [{ secretKey: "password", remoteRef: { key: "shop-db" } }],
        };
        const body = {
          apiVersion: "vaultsync.dev/v1alpha1",
          kind: "VaultSecret",
          metadata: { name: `many-${index}` },
          spec,
        };
        expect((await controlPlane.request("POST", resources, body)).status).toBe(201);
      }
    };
    await Promise.all([create(), create(), create(), create()]);
    const synced = [
      "get",
      "vaultsecrets",
      "--namespace",
      demoNamespace,
      "--output=jsonpath={.items[*].status.target.name}",
    ];
    const targets = async (): Promise<number> =>
      (await controlPlane.kubectl(synced)).stdout
        .split(" ")
        .filter((name) => name.startsWith("many-")).length;
    await expect.poll(targets, { timeout: 300_000, interval: 1000 }).toBe(1000);
    await reportMemory("with 1,000 resources");
  },
);

test("operator and vault exit with 0 in the grace period, and have changed no file", async () => {
  const graceMs = pod.spec.terminationGracePeriodSeconds * 1000;
  expect(await operator.container.stop(graceMs)).toBe(0);
  expect(await vault.container.stop(graceMs)).toBe(0);
  expect(await imageFiles(root)).toEqual(files);
});

test("a new container of the vault on the same data has the same accounts", async () => {
  await vault.start();
  await expect(logInAsShop(vault.url, vault.password)).resolves.toHaveProperty("url", vault.url);
});

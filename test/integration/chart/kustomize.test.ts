import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { chartObjects, kustomizedObjects } from "../../lab/helm/comparison.ts";
import { Helm, operatorRelease, vaultRelease } from "../../lab/helm/helm.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";

const root = join(import.meta.dirname, "..", "..", "..");

let helm: Helm;
let plane: ControlPlane;
beforeAll(async () => {
  helm = await Helm.create();
  plane = await sharedControlPlane();
});
afterAll(() => helm[Symbol.asyncDispose]());

async function kubectl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await plane.kubectl(args);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}
const kustomize = (folder: string): Promise<string> => kubectl("kustomize", join(root, folder));

/** The objects of the commands of docs/operator.md that serve the namespaces shop and billing. */
async function namespacedObjects(): Promise<Map<string, unknown>> {
  const objects = kustomizedObjects(await kustomize("deploy/overlays/namespaced"));
  for (const namespace of ["shop", "billing"]) {
    const tenant = (await kustomize("deploy/namespaced/tenant")).replaceAll(
      /^metadata:$/gmu,
      `metadata:\n  namespace: ${namespace}`,
    );
    for (const [key, object] of kustomizedObjects(tenant)) objects.set(key, object);
  }
  const create = [
    "create",
    "configmap",
    "vaultsync",
    "--namespace=vaultsync-system",
    "--from-literal=namespaces=shop,billing",
  ];
  const configMap = await kubectl(...create, "--dry-run=client", "--output=yaml");
  const labeled = configMap.replace(
    /^metadata:$/mu,
    "metadata:\n  labels: { app.kubernetes.io/name: vaultsync }",
  );
  for (const [key, object] of kustomizedObjects(labeled)) objects.set(key, object);
  return objects;
}

describe("the rendered chart has the objects of", () => {
  test.each([
    ["cluster-wide", []],
    ["minimal", ["--set=targetWatch=false"]],
  ])("deploy/overlays/%s", async (overlay, values) => {
    const expected = kustomizedObjects(await kustomize(`deploy/overlays/${overlay}`));
    // The namespace of a release exists before it, and outlives it.
    expect(expected.delete("Namespace/vaultsync-system")).toBe(true);
    expect(chartObjects(await helm.template(operatorRelease, values))).toEqual(expected);
  });

  test.each([
    ["vault", []],
    ["vault-postgres", ["--set=postgres.enabled=true"]],
  ])("deploy/overlays/%s", async (overlay, values) => {
    const expected = kustomizedObjects(await kustomize(`deploy/overlays/${overlay}`));
    expect(chartObjects(await helm.template(vaultRelease, values))).toEqual(expected);
  });

  test.each([
    ["operator", operatorRelease],
    ["vault", vaultRelease],
  ])("deploy/monitoring/%s, in addition", async (folder, release) => {
    const expected = kustomizedObjects(await kustomize(`deploy/monitoring/${folder}`));
    const rendered = await helm.template(release, [
      "--set=monitoring.podMonitor=true,monitoring.prometheusRule=true,monitoring.dashboard=true",
    ]);
    expect(new Map([...chartObjects(rendered)].filter(([key]) => expected.has(key)))).toEqual(
      expected,
    );
  });

  test("deploy/overlays/namespaced, deploy/namespaced/tenant and the ConfigMap", async () => {
    const expected = await namespacedObjects();
    expect(expected.delete("Namespace/vaultsync-system")).toBe(true);
    expect(
      chartObjects(await helm.template(operatorRelease, ["--set=namespaces={shop,billing}"])),
    ).toEqual(expected);
  });
});

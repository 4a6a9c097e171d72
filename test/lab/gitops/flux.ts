import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { Component } from "../control-plane/supervisor/component.ts";
import { freePort } from "../control-plane/supervisor/free-port.ts";
import { removeTree } from "../processes/remove-tree.ts";
import { type FluxController, fluxControllers } from "./programs.ts";

const NAMESPACE = "flux-system";

/** The user of a controller at the API server. */
export const userOf = (controller: FluxController): string =>
  `system:serviceaccount:${NAMESPACE}:${controller}`;

const account = (name: FluxController): object[] => [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: NAMESPACE } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name, namespace: NAMESPACE }],
  },
];

/**
 * Installs Flux's CRDs and starts its controllers next to a control plane: they serve all
 * namespaces, with the permissions that Flux gives them. Disposing the result kills them.
 * @param programs the directory of `gitOpsPrograms`
 */
export async function startFlux(plane: ControlPlane, programs: string): Promise<AsyncDisposable> {
  const crds = ["-f", join(programs, "crds")];
  await plane.kubectlOutput(["apply", "--server-side", ...crds]);
  await plane.kubectlOutput(["wait", "--for=condition=Established", "--timeout=60s", ...crds]);
  await plane.createNamespace(NAMESPACE, NAMESPACE);
  await plane.apply(fluxControllers.flatMap(account));

  const directory = await mkdtemp(join(tmpdir(), "vaultsync-flux-"));
  const artifacts = join(directory, "artifacts");
  await mkdir(artifacts);
  const lifetime = new AbortController();
  const stop = async (): Promise<void> => {
    lifetime.abort();
    await removeTree(directory);
  };
  const start = async (name: FluxController, args: readonly string[]): Promise<void> => {
    const identity = { serviceAccount: name, namespace: NAMESPACE };
    const component = new Component(name, {
      binaries: programs,
      directory,
      env: { KUBECONFIG: await plane.kubeconfigFor(identity), RUNTIME_NAMESPACE: NAMESPACE },
      signal: lifetime.signal,
    });
    const health = `127.0.0.1:${await freePort()}`;
    const flags = ["--metrics-addr=0", `--health-addr=${health}`, "--interval-jitter-percentage=0"];
    await component.start([...flags, ...args], () => isReady(health));
  };
  try {
    const storage = `127.0.0.1:${await freePort()}`;
    await start("source-controller", [
      `--storage-path=${artifacts}`,
      `--storage-addr=${storage}`,
      `--storage-adv-addr=${storage}`,
    ]);
    await start("kustomize-controller", ["--requeue-dependency=2s"]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { [Symbol.asyncDispose]: stop };
}

const isReady = (address: string): Promise<boolean> =>
  fetch(`http://${address}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

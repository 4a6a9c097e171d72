import type { ControlPlane } from "../control-plane/control-plane.ts";

/**
 * Installs the CRDs, or updates them, and waits until the API server serves them.
 *
 * By server-side apply, as all that share a control plane do: kubectl warns where one applied on
 * its own side before.
 */
export async function installCrds(plane: ControlPlane): Promise<void> {
  for (const args of [
    [
      "apply",
      "--server-side",
      "--force-conflicts",
      "--kustomize",
      new URL("../../../crds", import.meta.url).pathname,
    ],
    ["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"],
  ]) {
    await plane.kubectlOutput(args);
  }
}

/** Installs the CRDs, the policies and the RBAC rules of deploy/cluster and deploy/base. */
export async function installOperator(plane: ControlPlane): Promise<void> {
  for (const folder of ["crds", "deploy/cluster", "deploy/base"])
    await plane.kubectlOutput(["apply", "-k", folder]);
  await plane.kubectlOutput([
    "wait",
    "--for=condition=Established",
    "--timeout=60s",
    "crd",
    "--all",
  ]);
}

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
    const { code, stderr } = await plane.kubectl(args);
    if (code !== 0) throw new Error(stderr);
  }
}

import { join } from "node:path";
import { goPlatform, userCacheDirectory } from "../../tools/install.ts";

/** The Kubernetes release of binaries/go.mod; change both together. */
export const kubernetesVersion = "v1.36.3";

/**
 * The programs of a control plane. The controller manager collects garbage and deletes namespaces.
 */
export const components = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;

/** Returns the cache directory of the binaries, by version and platform. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const { os, arch } = goPlatform();
  return join(
    userCacheDirectory(environment),
    "control-plane",
    `${kubernetesVersion}-${os}-${arch}`,
  );
}

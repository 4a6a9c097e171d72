import { join } from "node:path";
import { goPlatform, userCacheDirectory } from "../../tools/install.ts";

/** The Kubernetes release of binaries/go.mod; change both together. */
export const kubernetesVersion = "v1.36.3";

/**
 * Returns the linker's flags. Without the stamp a program reports v0.0.0: clients reject that
 * version.
 */
export function versionFlags(): string {
  const stamp = "k8s.io/component-base/version";
  const [major, minor] = kubernetesVersion.slice(1).split(".");
  return `-s -w -X ${stamp}.gitVersion=${kubernetesVersion} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`;
}

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

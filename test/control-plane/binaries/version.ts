import { arch, homedir, platform } from "node:os";
import { join } from "node:path";

/** The Kubernetes release of binaries/go.mod; change both together. */
export const kubernetesVersion = "v1.36.3";

/** The programs of a control plane. The controller manager collects garbage and deletes namespaces. */
export const components = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;

/** Returns the platform in the notation of Go and the published archives, e.g. `linux-amd64`. */
export function goPlatform(): { os: string; arch: string } {
  const machine = arch();
  return { os: platform(), arch: machine === "x64" ? "amd64" : machine };
}

/** Returns the cache directory of the binaries, in `$XDG_CACHE_HOME` or `~/.cache`, by version and platform. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
  const { os, arch: machine } = goPlatform();
  return join(base, "vaultsync", "control-plane", `${kubernetesVersion}-${os}-${machine}`);
}

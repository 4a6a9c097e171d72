import { arch, homedir, platform } from "node:os";
import { join } from "node:path";

/** The Kubernetes release that binaries/go.mod names; the two are changed together. */
export const kubernetesVersion = "v1.36.3";

/** What a control plane is made of. Without the controller manager nothing collects garbage or ends a namespace. */
export const components = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;

/** The platform as Go and the published archives spell it, e.g. `linux-amd64`. */
export function goPlatform(): { os: string; arch: string } {
  const machine = arch();
  return { os: platform(), arch: machine === "x64" ? "amd64" : machine };
}

/** Where binaries are kept between runs: `$XDG_CACHE_HOME` or `~/.cache`, keyed by version and platform. */
export function cacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
  const { os, arch: machine } = goPlatform();
  return join(base, "vaultsync", "control-plane", `${kubernetesVersion}-${os}-${machine}`);
}

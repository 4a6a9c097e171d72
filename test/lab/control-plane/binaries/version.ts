import { join } from "node:path";
import { goPlatform, userCacheDirectory } from "../../tools/install.ts";

/** A Kubernetes release, as the folder of its name pins it in go.mod: change both together. */
export interface Release {
  readonly name: "newest" | "oldest";
  /** For example `v1.36.3`. */
  readonly version: string;
}

export const newest: Release = { name: "newest", version: "v1.36.3" };
/** A release of the oldest minor that Vaultsync supports. */
export const oldest: Release = { name: "oldest", version: "v1.30.14" };

/** The variable that chooses a release by its name. */
export const releaseVariable = "VAULTSYNC_KUBERNETES";

/** Returns the release that the environment chooses, by default the newest. @throws Error */
export function chosenRelease(environment: NodeJS.ProcessEnv = process.env): Release {
  const name = environment[releaseVariable] || newest.name;
  const release = [newest, oldest].find((each) => each.name === name);
  if (release === undefined)
    throw new Error(`${releaseVariable}: expected newest or oldest, found ${name}`);
  return release;
}

/** Returns the directory of a release's go.mod. */
export function moduleDirectory({ name }: Release): string {
  return join(import.meta.dirname, name);
}

/**
 * Returns the linker's flags. Without the stamp a program reports v0.0.0: clients reject that
 * version.
 */
export function versionFlags({ version }: Release): string {
  const stamp = "k8s.io/component-base/version";
  const [major, minor] = version.slice(1).split(".");
  return `-s -w -X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`;
}

/**
 * The programs of a control plane. The controller manager collects garbage and deletes namespaces.
 */
export const components = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] as const;

/** Returns the cache directory of a release's binaries, by version and platform. */
export function cacheDirectory(
  { version }: Release,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  const { os, arch } = goPlatform();
  return join(userCacheDirectory(environment), "control-plane", `${version}-${os}-${arch}`);
}

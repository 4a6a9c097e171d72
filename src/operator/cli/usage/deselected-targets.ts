import { OWNER_ANNOTATION } from "../../api/names.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { CONFIG_MAPS, SECRETS } from "../../kube/resource.ts";
import type { Cluster } from "../cluster.ts";
import type { Usage, UsingResource, Workload } from "./read-usage.ts";

/** Texts about what uses a target of a cluster-scoped resource, by the resource. */
export type DeselectedUsers = ReadonlyMap<UsingResource, readonly string[]>;

/** Returns the workloads outside of the selected namespaces that use an object with a target's name. */
function strangersOf(
  { workloads, resources }: Usage,
  { kind, name, target }: UsingResource,
): readonly Workload[] {
  const selected = new Set(
    resources
      .filter((one) => one.kind === kind && one.name === name)
      .map(({ namespace }) => namespace),
  );
  return workloads.filter(({ namespace, uses }) => !selected.has(namespace) && uses.has(target));
}

/**
 * Reports whether the target of a resource stayed in a namespace that it does not select any more;
 * `unknown` if the user may not read it. Reads metadata only. @throws KubeError
 */
async function hasTarget(
  { api }: Pick<Cluster, "api">,
  { kind, name, target }: UsingResource,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  const [targetKind, targetName = ""] = target.split("/");
  const descriptor = targetKind === SECRETS.kind ? SECRETS : CONFIG_MAPS;
  try {
    const { metadata } = await api.getMetadata(descriptor, { namespace, name: targetName }, signal);
    return metadata.annotations?.[OWNER_ANNOTATION] === `${kind}/${name}`;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    if (isKubeError(error, "Forbidden")) return "unknown";
    throw error;
  }
}

/**
 * Finds the workloads that use targets of cluster-scoped resources in namespaces that these do not
 * select any more: such a target stays, with the versions that it had. @throws KubeError
 */
export async function deselectedUsers(
  cluster: Pick<Cluster, "api">,
  usage: Usage,
  signal: AbortSignal,
): Promise<DeselectedUsers> {
  const found = new Map<UsingResource, readonly string[]>();
  for (const resource of usage.clusterWide) {
    const texts: string[] = [];
    const byNamespace = Map.groupBy(strangersOf(usage, resource), ({ namespace }) => namespace);
    for (const [namespace, users] of byNamespace) {
      const isTarget = await hasTarget(cluster, resource, namespace, signal);
      if (isTarget === false) continue;
      const names = users.map(({ kind, name }) => `${kind} ${name}`).join(", ");
      texts.push(`${names} in the deselected namespace ${namespace}`);
    }
    found.set(resource, texts);
  }
  return found;
}

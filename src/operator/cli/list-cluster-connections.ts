import { isObject } from "../../lib/is-object.ts";
import { clusterVaultConnectionKind } from "../api/kinds.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { ALL_NAMESPACES, type KubeObject } from "../kube/resource.ts";
import { type Cluster, listAll } from "./cluster.ts";

/** Returns the name of the ClusterVaultConnection that a resource refers to. */
function clusterConnectionOf({ spec }: KubeObject): unknown {
  const ref = isObject(spec) ? spec["connectionRef"] : undefined;
  return isObject(ref) && ref["kind"] === clusterVaultConnectionKind.kind ? ref["name"] : undefined;
}

/**
 * Lists the cluster-scoped connections: all of them, or those that the resources of one namespace
 * refer to. Their readers need not be allowed to read them.
 */
export async function listClusterConnections(
  { api, namespace }: Cluster,
  resources: readonly KubeObject[],
  signal: AbortSignal,
) {
  const names = new Set(resources.map(clusterConnectionOf));
  if (namespace !== ALL_NAMESPACES && names.size === 1 && names.has(undefined)) return [];
  const all = { api, namespace: ALL_NAMESPACES };
  const connections = await listAll(all, clusterVaultConnectionKind, signal).catch(
    (error: unknown) => {
      if (namespace !== ALL_NAMESPACES && isKubeError(error, "Forbidden")) return [];
      throw error;
    },
  );
  return connections.filter(
    ({ metadata }) => namespace === ALL_NAMESPACES || names.has(metadata.name),
  );
}

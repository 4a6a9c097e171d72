import { operatorRelease } from "../../lab/helm/helm.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import { isPodReady, podsOf, type Pod } from "./reader.ts";

/** Namespace of the operator's pods. */
export const system = operatorRelease.namespace;

/** Returns the pods of the operator. */
export function operatorPods(cluster: NodeCluster): Promise<Pod[]> {
  return podsOf(cluster, system, "app.kubernetes.io/name=vaultsync");
}

/** Returns which pods of the operator are ready. */
export async function readyOperators(cluster: NodeCluster): Promise<boolean[]> {
  return (await operatorPods(cluster)).map(isPodReady);
}

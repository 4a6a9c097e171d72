import { z } from "zod";
import { waitUntil } from "../../lab/clock/wait-until.ts";
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

const Lease = z.object({ spec: z.object({ holderIdentity: z.string() }) });

/** Returns the pod that holds the Lease. */
export function leadingOperator(cluster: NodeCluster): Promise<Pod> {
  return waitUntil("a pod of the operator leads", async () => {
    const args = ["get", "lease", "vaultsync", "--output=json"];
    const lease = await cluster.kubectlOutput(args, { namespace: system });
    const { holderIdentity } = Lease.parse(JSON.parse(lease)).spec;
    const pods = await operatorPods(cluster);
    return pods.find(({ metadata }) => holderIdentity.startsWith(metadata.name));
  });
}

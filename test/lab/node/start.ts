import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { startControlPlane } from "../control-plane/start.ts";
import { clusterDns } from "./cluster-dns.ts";
import { explained } from "./explained.ts";
import { NodeCluster } from "./node-cluster.ts";
import { type NodeFeatures, nodePrograms } from "./programs.ts";
import { whyNoNode } from "./requirements.ts";

/**
 * Starts a cluster of one node that runs pods: a control plane, containerd, a kubelet, Services and
 * DNS, in separate namespaces of this machine. Disposing it, or any end of this process, removes
 * everything.
 * @throws Error in one line when this machine cannot run it
 */
export async function startNode({
  progress = silentProgress,
  ...features
}: NodeFeatures & { progress?: Progress } = {}): Promise<NodeCluster & AsyncDisposable> {
  const why = await whyNoNode(features);
  if (why !== undefined) throw new Error(why);
  const node = await nodePrograms(progress, features);
  const owned = await startControlPlane({ progress, node });
  const stop = async (): Promise<void> => {
    await owned[Symbol.asyncDispose]();
  };
  try {
    const cluster = await NodeCluster.open(owned.directory);
    progress.update("Starting the cluster's DNS");
    await explained(cluster, () => startDns(cluster));
    return Object.assign(cluster, { [Symbol.asyncDispose]: stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startDns(cluster: NodeCluster): Promise<void> {
  await cluster.apply(clusterDns(cluster.layout.dns));
  const rollout = ["rollout", "status", "--namespace=kube-system", "deployment/coredns"];
  await cluster.kubectlOutput([...rollout, "--timeout=2m"]);
}

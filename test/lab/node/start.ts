import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { startControlPlane } from "../control-plane/start.ts";
import { clusterDns } from "./cluster-dns.ts";
import { NodeCluster } from "./node-cluster.ts";
import { type NodeFeatures, nodePrograms } from "./programs.ts";
import { whyNoNode } from "./requirements.ts";
import { messageOf } from "../../../src/lib/errors.ts";

const shownLines = 25;

/**
 * Runs a step on a cluster, and adds to its error what the pods of the cluster do. The cluster is
 * still there then: who catches the error removes it.
 */
export async function explained<T>(cluster: NodeCluster, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const message = messageOf(error);
    throw new Error(`${message}\n${await stateOf(cluster)}`, { cause: error });
  }
}

/** Returns the pods, the last events and the ends of the logs. */
async function stateOf(cluster: NodeCluster): Promise<string> {
  const pods = ["get", "pods", "--all-namespaces", "--output=wide"];
  const events = ["get", "events", "--all-namespaces", "--sort-by=.metadata.creationTimestamp"];
  const parts = {
    pods: () => kubectl(cluster, pods),
    events: () => kubectl(cluster, events),
    "kubelet.log": () => readFile(join(cluster.directory, "kubelet.log"), "utf8"),
    "containerd.log": () => readFile(join(cluster.directory, "containerd.log"), "utf8"),
  };
  const texts = Object.entries(parts).map(async ([name, read]) => {
    const text = await read().catch(String);
    return [`--- ${name}`, ...text.trimEnd().split("\n").slice(-shownLines)].join("\n");
  });
  return (await Promise.all(texts)).join("\n");
}

async function kubectl(cluster: NodeCluster, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await cluster.kubectl([...args, "--request-timeout=20s"]);
  return stdout + stderr;
}

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

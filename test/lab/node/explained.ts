import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NodeCluster } from "./node-cluster.ts";

const shownLines = 25;

/**
 * Runs a step on a cluster, and adds to its error what the pods of the cluster do. The cluster is
 * still there then: who catches the error removes it.
 */
export async function explained<T>(cluster: NodeCluster, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
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

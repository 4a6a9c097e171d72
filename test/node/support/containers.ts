import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../../src/lib/errors.ts";
import type { NodeCluster } from "../../lab/node/node-cluster.ts";
import type { Pod } from "./reader.ts";

/** Sends a signal to all processes in the container of a pod. */
export function signalContainer(cluster: NodeCluster, pod: Pod, signal: NodeJS.Signals): void {
  for (const process_ of processesOf(cluster, pod)) {
    try {
      process.kill(process_, signal);
    } catch (error) {
      // The first process of a container ends the rest.
      if (codeOf(error) !== "ESRCH") throw error;
    }
  }
}

/** Returns the process ids in the container of a pod, as this machine numbers them. */
function processesOf(cluster: NodeCluster, { metadata, status }: Pod): number[] {
  const container = status.containerStatuses[0]?.containerID?.replace("containerd://", "") ?? "";
  const root = join("/sys/fs/cgroup/pids", cluster.layout.cgroup);
  const found = readdirSync(root, { recursive: true, encoding: "utf8" }).find((path) =>
    path.endsWith(container),
  );
  if (container === "" || found === undefined)
    throw new Error(`no control group of ${metadata.name}`);
  return readFileSync(join(root, found, "cgroup.procs"), "utf8")
    .trim()
    .split("\n")
    .map(Number);
}

import { existsSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { removeTree } from "../../processes/remove-tree.ts";
import { nodeLayout, slots, type NodeLayout } from "../layout.ts";

const cgroups = "/sys/fs/cgroup";
const attempts = 100;
const intervalMs = 100;

/** Name of the file in a node's directory with the id of the process that owns it. */
export const ownerFile = "owner";

/** Reports whether a node of this machine has the interface: it ends with its processes. */
export function isLinked({ link }: NodeLayout): boolean {
  return existsSync(`/sys/class/net/${link}`);
}

/** Reports whether a node runs in a slot, or is being removed by its owner. */
function isInUse(layout: NodeLayout): boolean {
  if (isLinked(layout)) return true;
  try {
    const owner = readFileSync(join(layout.directory, ownerFile), "utf8");
    return readFileSync(`/proc/${owner}/cmdline`, "utf8").includes(import.meta.dirname);
  } catch {
    return false;
  }
}

/** Returns the node's directories of control groups: one, or with version 1 one per controller. */
export function cgroupDirectories({ cgroup }: NodeLayout): string[] {
  const controllers = readdirSync(cgroups, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const all = ["", ...controllers].map((controller) => join(cgroups, controller, cgroup));
  return all.filter((directory) => existsSync(directory));
}

/** Removes a tree of control groups. A process that is ending may still be in one. */
function removeCgroup(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(directory, entry.name));
  rmdirSync(directory);
}

/** Removes the directory and the control groups of a node whose processes have ended. */
export async function removeLeftovers(layout: NodeLayout): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      for (const directory of cgroupDirectories(layout)) removeCgroup(directory);
      break;
    } catch (error) {
      if (attempt === attempts) throw error;
      await sleep(intervalMs);
    }
  }
  await removeTree(layout.directory);
}

/** Removes what killed nodes have left, in every slot that is not in use. */
export async function removeAllLeftovers(): Promise<void> {
  for (let slot = 0; slot < slots; slot++) {
    const layout = nodeLayout(slot);
    if (!isInUse(layout)) await removeLeftovers(layout);
  }
}

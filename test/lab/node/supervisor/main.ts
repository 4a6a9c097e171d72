import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitUntil } from "../../clock/wait-until.ts";
import { Settings } from "../../control-plane/supervisor/settings.ts";
import { nodeLayout, slots, type NodeLayout } from "../layout.ts";
import {
  cgroupDirectories,
  isLinked,
  ownerFile,
  removeAllLeftovers,
  removeLeftovers,
} from "./leftovers.ts";
import { messageOf } from "../../../../src/lib/errors.ts";

/**
 * Owns one node while its standard input is open. All processes of the node are in their own
 * namespaces of processes, mounts and the network: whatever ends this process or its child, the
 * kernel ends the node and removes its mounts, interfaces and rules. This process removes the rest,
 * a directory and control groups, or the next start does.
 */
const run = promisify(execFile);
const settings = Settings.parse(JSON.parse(process.argv[2] ?? ""));
const program = join(import.meta.dirname, "../../control-plane/supervisor/main.ts");
const graceMs = 10_000;

/**
 * The first process of the namespace: waits for the settings, starts the supervisor of the cluster,
 * and ends with it. A shell also waits for processes that lost their parent.
 */
const script = 'read -r settings; exec 3<&0; "$@" "$settings" <&3 3<&- & wait $!';
const namespaces = ["--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"];

function startInNamespaces() {
  const shell = ["sh", "-c", script, "sh", process.execPath, program];
  return spawn("unshare", [...namespaces, ...shell], { stdio: ["pipe", "inherit", "inherit"] });
}

/**
 * Connects the namespace of a process with this machine: its first free slot. @throws Error when
 * all are in use
 */
async function connect(pid: number): Promise<NodeLayout> {
  const own = await readlink("/proc/self/ns/net");
  const isSeparate = async (): Promise<boolean> => (await readlink(`/proc/${pid}/ns/net`)) !== own;
  await waitUntil("unshare has made its namespaces", isSeparate, 10_000, 10);
  for (let slot = 0; slot < slots; slot++) {
    const layout = nodeLayout(slot);
    if (existsSync(layout.directory)) continue;
    const peer = ["peer", "name", "eth0", "netns", String(pid)];
    const added = run("ip", ["link", "add", layout.link, "type", "veth", ...peer]);
    const isFree = await added.then(
      () => true,
      (error: unknown) => {
        if (isLinked(layout)) return false;
        throw error;
      },
    );
    if (!isFree) continue;
    await run("ip", ["address", "add", `${layout.host}/30`, "dev", layout.link]);
    await run("ip", ["link", "set", layout.link, "up"]);
    await run("ip", ["route", "add", layout.network, "via", layout.address]);
    return layout;
  }
  throw new Error(`${slots} nodes run on this machine: stop one`);
}

/** Makes the control groups in which the node's pods have theirs. */
async function makeCgroups(layout: NodeLayout): Promise<void> {
  const mounted = await readFile("/proc/self/mounts", "utf8");
  const roots = mounted.split("\n").flatMap((line) => {
    const [, directory = "", type = ""] = line.split(" ");
    const isRoot = directory.startsWith("/sys/fs/cgroup") && directory !== "/sys/fs/cgroup/unified";
    return type.startsWith("cgroup") && isRoot ? [directory] : [];
  });
  for (const root of roots) await mkdir(join(root, layout.cgroup));
  // A group of version 1 starts without processors.
  for (const directory of cgroupDirectories(layout)) {
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      const inherited = await readFile(join(directory, "..", file), "utf8").catch(() => "");
      if (inherited !== "") await writeFile(join(directory, file), inherited);
    }
  }
}

await removeAllLeftovers();
const child = startInNamespaces();
const ended = once(child, "exit");
child.stdin.on("error", () => {});

function stop(): void {
  child.stdin.end();
  setTimeout(() => child.kill("SIGKILL"), graceMs).unref();
}

process.stdin.on("end", stop).on("error", stop).resume();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);

let layout: NodeLayout | undefined;
try {
  layout = await connect(child.pid ?? 0);
  await mkdir(layout.directory, { mode: 0o700 });
  await writeFile(join(layout.directory, ownerFile), String(process.pid));
  await makeCgroups(layout);
  const inside: Settings = { ...settings, node: { ...layout, owner: process.pid } };
  child.stdin.write(`${JSON.stringify(inside)}\n`);
} catch (error) {
  process.stdout.write(`${JSON.stringify({ event: "failed", message: messageOf(error) })}\n`);
  stop();
}
await ended;
if (layout !== undefined) {
  await run("ip", ["link", "delete", layout.link]).catch(() => {
    // The kernel has removed it with the namespace.
  });
  await removeLeftovers(layout);
}
// The standard input may be open.
process.exit();

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeAll, expect, test } from "vitest";
import { exampleFile } from "../../scripts/demo/vault-account.ts";
import { readHandle } from "../lab/control-plane/handle.ts";

const program = join(import.meta.dirname, "../../scripts/cluster.ts");
const programs = /^(?:etcd|kube|containerd|runc|coredns|pause|unshare)/u;

/** Returns the names of the programs of a node that run, whatever process started them. */
function nodeProcesses(): string[] {
  const names = globSync("/proc/[0-9]*/comm").flatMap((path) => {
    try {
      return [`${path} ${readFileSync(path, "utf8").trim()}`];
    } catch {
      return []; // It has ended.
    }
  });
  return names.filter((name) => programs.test(name.split(" ")[1] ?? ""));
}

/** Returns the links, rules, mounts, control groups, kernel settings and directories. */
function machine(): Record<string, unknown> {
  return {
    links: execFileSync("ip", ["-brief", "link"], { encoding: "utf8" }).replaceAll(/ \S+ /gu, " "),
    routes: execFileSync("ip", ["route"], { encoding: "utf8" }),
    rules: execFileSync("nft", ["list", "ruleset"], { encoding: "utf8" }),
    mounts: readFileSync("/proc/self/mounts", "utf8"),
    cgroups: globSync("/sys/fs/cgroup/{,*/}vaultsync*"),
    kernel: ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops"].map((name) =>
      readFileSync(`/proc/sys/${name}`, "utf8"),
    ),
    directories: globSync(join(tmpdir(), "vaultsync-{node,archive,image,oci,keys}*")),
    processes: nodeProcesses(),
  };
}

/** The machine with the cluster that all tests share. */
let before: Record<string, unknown>;
beforeAll(async () => {
  // Pods of an earlier file may still be ending.
  do {
    before = machine();
    await sleep(20_000);
  } while (!isDeepStrictEqual(machine(), before));
});

let owner: ChildProcess | undefined;
afterEach(() => void owner?.kill("SIGKILL"));

/** Starts another cluster, and returns its directory and what was printed before. */
async function start(
  ...args: readonly string[]
): Promise<{ owner: ChildProcess; directory: string; output: string }> {
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [program, ...args], { stdio });
  owner = child;
  let output = "";
  for await (const line of createInterface({ input: child.stdout })) {
    const directory = /KUBECONFIG=(.+)\/kubeconfig/u.exec(line)?.[1];
    if (directory !== undefined) return { owner: child, directory, output };
    output += `${line}\n`;
  }
  throw new Error("the cluster did not start");
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

const soon = { timeout: 30_000, interval: 100 };

test.each(["SIGINT", "SIGKILL"] as const)(
  "a cluster that %s ends leaves nothing, and has never changed rules or mounts",
  async (signal) => {
    const { owner: child, directory } = await start();
    const { rules, mounts, kernel, processes } = machine();
    expect({ rules, mounts, kernel }).toEqual({
      rules: before["rules"],
      mounts: before["mounts"],
      kernel: before["kernel"],
    });
    expect(processes).not.toEqual(before["processes"]);
    expect(existsSync(directory)).toBe(true);
    await end(child, signal);
    await expect.poll(machine, soon).toEqual(before);
  },
);

test("a cluster with Vaultsync prints what a pod has read, and leaves nothing", async () => {
  const { owner: child, output } = await start("--with-vaultsync");
  expect(output).toContain((await exampleFile("app.conf")).toString());
  expect(output).toContain("PASSWORD has 32 characters");
  await end(child, "SIGINT");
  await expect.poll(machine, soon).toEqual(before);
});

test("a start after kill -9 of the owner and the supervisor removes what they left", async () => {
  const first = await start();
  const { pid } = await readHandle(first.directory);
  first.owner.kill("SIGSTOP");
  process.kill(pid, "SIGKILL");
  await end(first.owner, "SIGKILL");
  await expect.poll(nodeProcesses, soon).toEqual(before["processes"]);
  expect(existsSync(first.directory)).toBe(true);
  const second = await start();
  expect(second.directory).toBe(first.directory);
  await end(second.owner, "SIGINT");
  await expect.poll(machine, soon).toEqual(before);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, readFile, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ControlPlane } from "./control-plane.ts";
import { readHandle } from "./handle.ts";
import { startControlPlane, type OwnedControlPlane } from "./start.ts";

/** Returns the process ids of a group, from /proc. */
async function groupMembers(group: number): Promise<number[]> {
  const members: number[] = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "");
    const [state, , processGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(processGroup) === group && state !== "Z") members.push(Number(entry));
  }
  return members;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function expectNoRemains(directory: string, group: number): Promise<void> {
  await expect.poll(() => groupMembers(group), { timeout: 20_000 }).toEqual([]);
  await expect.poll(() => exists(directory), { timeout: 20_000 }).toBe(false);
}

describe("startControlPlane", { timeout: 120_000 }, () => {
  let owned: OwnedControlPlane;
  let group: number;
  beforeAll(async () => {
    owned = await startControlPlane();
    group = (await readHandle(owned.directory)).pid;
  }, 120_000);
  afterAll(async () => {
    await owned[Symbol.asyncDispose]();
  });

  async function commands(): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const member of await groupMembers(group)) {
      found.set((await readFile(`/proc/${member}/comm`, "utf8")).trim(), member);
    }
    return found;
  }

  const readiness = async (): Promise<number> =>
    (await owned.request("GET", "/readyz").catch(() => ({ status: 0 }))).status;

  test("a restarted API server keeps its data, port and tokens", async () => {
    const remote = new ControlPlane(await readHandle(owned.directory));
    const namespace = await owned.createNamespace("restart");
    const kubeconfig = await owned.kubeconfigFor({ serviceAccount: "default", namespace });
    await owned.kubectl(["create", "configmap", "kept", "--from-literal=a=1"], { namespace });

    await remote.stopApiServer();
    await expect(owned.request("GET", "/readyz")).rejects.toThrow(/ECONNREFUSED/);
    expect(await owned.auditEvents()).not.toEqual([]);
    await remote.startApiServer();
    const kept = await owned.kubectl(["get", "configmap", "kept", "--output=jsonpath={.data.a}"], {
      namespace,
    });
    expect(kept).toEqual({ stdout: "1", stderr: "", code: 0 });
    expect((await owned.kubectl(["auth", "whoami"], { kubeconfig })).code).toBe(0);
  });

  test("a server that died is restarted", async () => {
    const victim = (await commands()).get("kube-apiserver");
    if (victim === undefined) throw new Error("no kube-apiserver in the group");
    process.kill(victim, "SIGKILL");
    await expect.poll(readiness, { timeout: 5000 }).not.toBe(200);
    await expect.poll(readiness, { timeout: 60_000, interval: 200 }).toBe(200);
    expect((await commands()).get("kube-apiserver")).not.toBe(victim);
  });

  test("disposing leaves no process and no directory", async () => {
    expect(await groupMembers(group)).toHaveLength(4);
    await owned[Symbol.asyncDispose]();
    expect(await groupMembers(group)).toEqual([]);
    expect(await exists(owned.directory)).toBe(false);
    await expect(readHandle(owned.directory)).rejects.toThrow(/ENOENT/);
  });
});

describe("a control plane whose owner dies", { timeout: 120_000 }, () => {
  const script = join(import.meta.dirname, "..", "..", "..", "scripts", "control-plane.ts");
  test.each(["SIGKILL", "SIGINT"] as const)(
    "leaves no process and no directory after %s",
    async (signal) => {
      const owner = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "ignore"] });
      let directory = "";
      for await (const line of createInterface({ input: owner.stdout })) {
        directory = /VAULTSYNC_CONTROL_PLANE=(.+)/.exec(line)?.[1] ?? directory;
        if (line.includes("Ctrl-C")) break;
      }
      const { pid } = await readHandle(directory);
      expect(await groupMembers(pid)).toHaveLength(4);
      const ended = once(owner, "exit");
      owner.kill(signal);
      await ended;
      await expectNoRemains(directory, pid);
    },
  );

  test("leaves no process and no directory after SIGKILL during the start", async () => {
    const owner = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "pipe"] });
    let supervisor = 0;
    for await (const line of createInterface({ input: owner.stderr })) {
      if (!line.startsWith("etcd is up")) continue;
      const children = await readFile(`/proc/${owner.pid}/task/${owner.pid}/children`, "utf8");
      supervisor = Number(children.trim());
      break;
    }
    const directory = await readlink(`/proc/${supervisor}/cwd`);
    expect((await groupMembers(supervisor)).length).toBeGreaterThanOrEqual(2);
    owner.kill("SIGKILL");
    await expectNoRemains(directory, supervisor);
  });
});

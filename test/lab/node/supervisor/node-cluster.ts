import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { waitUntil } from "../../clock/wait-until.ts";
import { apiRequest, type ApiAccess } from "../../control-plane/api-request.ts";
import { kubeconfig } from "../../control-plane/kubeconfig.ts";
import {
  type ApiServerPlace,
  startBinariesCluster,
} from "../../control-plane/supervisor/binaries-cluster.ts";
import type { Cluster } from "../../control-plane/supervisor/cluster.ts";
import { Component } from "../../control-plane/supervisor/component.ts";
import {
  administrator,
  type Identities,
  kubelet,
  proxy,
  scheduler,
  tokenOf,
} from "../../control-plane/supervisor/identities.ts";
import { type NodeLayout, nodeName } from "../layout.ts";
import { nodeFiles, writeNodeFiles } from "./node-files.ts";

const run = promisify(execFile);

export interface NodeClusterOptions {
  readonly directory: string;
  readonly layout: NodeLayout;
  readonly programs: Readonly<
    Record<"controlPlane" | "kubernetes" | "containerd" | "pods", string>
  > & { readonly policies?: string | undefined };
  readonly identities: Identities;
  readonly note: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Values that a kubelet sets in the kernel, for the whole machine. It reads these files instead and
 * finds nothing to do.
 */
const expectedByKubelet: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

/** Prepares the mounts of this namespace: what programs write to fixed paths stays in it. */
async function prepareMounts({ directory }: NodeLayout): Promise<void> {
  await run("mount", ["-t", "tmpfs", "-o", "mode=755", "vaultsync-run", "/run"]);
  for (const part of ["var", "var-work", "sysctl"]) await mkdir(join(directory, part));
  const layers = `lowerdir=/var,upperdir=${directory}/var,workdir=${directory}/var-work`;
  await run("mount", ["-t", "overlay", "-o", layers, "vaultsync-var", "/var"]);
  for (const [name, value] of Object.entries(expectedByKubelet)) {
    const file = join(directory, "sysctl", name.replaceAll("/", "."));
    await writeFile(file, String(value));
    await run("mount", ["--bind", file, `/proc/sys/${name}`]);
  }
}

const ip = (...args: readonly string[]): Promise<unknown> => run("ip", args);

async function prepareNetwork({ address, host, link }: NodeLayout): Promise<void> {
  await waitUntil(`${link} is connected`, () => ip("link", "show", "eth0"), 10_000, 10);
  await ip("link", "set", "lo", "up");
  await ip("address", "add", `${address}/30`, "dev", "eth0");
  await ip("link", "set", "eth0", "up");
  await ip("route", "add", "default", "via", host);
  await writeFile("/proc/sys/net/ipv4/ip_forward", "1");
}

function placeOf({ address, services }: NodeLayout): ApiServerPlace {
  return {
    address,
    port: 6443,
    arguments: [
      `--advertise-address=${address}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
      `--service-cluster-ip-range=${services}`,
      "--allow-privileged",
      `--kubelet-client-certificate=${nodeFiles.clientCertificate}`,
      `--kubelet-client-key=${nodeFiles.clientKey}`,
      "--kubelet-preferred-address-types=InternalIP",
    ],
    controllers: "*,-nodeipam",
  };
}

/**
 * Starts the programs of a control plane and of one node. Runs in the namespaces of the node:
 * nothing that they mount, listen on or write to the network's rules is outside.
 */
export async function startNodeCluster(options: NodeClusterOptions): Promise<Cluster> {
  const { directory, layout, programs, identities, note, signal } = options;
  for (const part of ["cni", "pod-logs", "volume-plugins"]) await mkdir(join(directory, part));
  await prepareMounts(layout);
  await prepareNetwork(layout);
  await writeNodeFiles(layout);
  const place = placeOf(layout);
  const cluster = await startBinariesCluster({
    ...options,
    binaries: programs.controlPlane,
    place,
  });
  const { access } = cluster;
  const component = (name: string, binaries: string): Component =>
    new Component(name, { directory, binaries, signal });
  const credentials = (name: string, user: string): Promise<string> =>
    writeCredentials(join(directory, `${name}.kubeconfig`), access, identities, user);

  const containerd = component("containerd", programs.containerd);
  const ctr = (...args: string[]): Promise<unknown> =>
    run(join(programs.containerd, "ctr"), [
      `--address=${directory}/containerd.sock`,
      "--namespace=k8s.io",
      ...args,
    ]);
  const startContainerd = (): Promise<void> =>
    containerd.start([`--config=${nodeFiles.containerd}`], () =>
      ctr("version").then(
        () => true,
        () => false,
      ),
    );
  await startContainerd();
  note("containerd is ready");
  for (const image of ["pause", "coredns"])
    await ctr("images", "import", join(programs.pods, `${image}.tar`));

  const agent = component("kubelet", programs.kubernetes);
  const agentArgs = [
    `--config=${nodeFiles.kubelet}`,
    `--kubeconfig=${await credentials("kubelet", kubelet)}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${layout.address}`,
    `--root-dir=${directory}/kubelet`,
    `--cert-dir=${directory}/kubelet-certificates`,
  ];
  const startAgent = (): Promise<void> => agent.start(agentArgs, () => isHealthy(10248));
  await startAgent();
  await credentials("kube-proxy", proxy);
  await component("kube-proxy", programs.kubernetes).start([`--config=${nodeFiles.proxy}`], () =>
    isHealthy(10256),
  );
  await component("kube-scheduler", programs.kubernetes).start(
    [`--kubeconfig=${await credentials("kube-scheduler", scheduler)}`, "--leader-elect=false"],
    async () => true,
  );
  if (programs.policies !== undefined) {
    for (const [name, value] of Object.entries(unlimitedRefusals))
      await writeFile(join("/proc/sys/net/ipv4", name), String(value));
    const args = policyArguments(layout, await credentials("kube-router", administrator));
    await component("kube-router", programs.policies).start(args, () => isHealthy(20244));
  }
  await waitUntil("the node is ready", () => isNodeReady(access), 120_000, 200);
  note("the node is ready");
  return {
    ...cluster,
    nodeActions: {
      "/containerd/restart": async () => {
        await containerd.stop();
        await startContainerd();
      },
      "/kubelet/stop": () => agent.stop(),
      "/kubelet/start": startAgent,
    },
  };
}

/** Values with which the client of each refused connection is notified, not only of some a second. */
const unlimitedRefusals: Readonly<Record<string, number>> = {
  icmp_ratelimit: 0,
  icmp_msgs_per_sec: 1_000_000,
  icmp_msgs_burst: 100_000,
};

/** It only enforces NetworkPolicies, of the addresses that a node has: of version 4. */
function policyArguments({ services }: NodeLayout, credentials: string): string[] {
  return [
    `--kubeconfig=${credentials}`,
    `--hostname-override=${nodeName}`,
    `--service-cluster-ip-range=${services}`,
    "--run-firewall=true",
    "--run-router=false",
    "--run-service-proxy=false",
    "--enable-ipv6=false",
    "--metrics-port=0",
    "--health-port=20244",
  ];
}

async function writeCredentials(
  path: string,
  access: ApiAccess,
  { users }: Identities,
  user: string,
): Promise<string> {
  const text = kubeconfig({ ...access, token: tokenOf(users, user), user });
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

async function isHealthy(port: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${port}/healthz`)).ok;
}

const Node = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
});

async function isNodeReady(access: ApiAccess): Promise<boolean> {
  const { status, body } = await apiRequest(access, { path: `/api/v1/nodes/${nodeName}` });
  if (status !== 200) return false;
  const { conditions } = Node.parse(JSON.parse(body)).status;
  return conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
}

import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { moduleDirectory, newest, versionFlags } from "../control-plane/binaries/version.ts";
import type { Progress } from "../control-plane/progress.ts";
import type { NodePrograms } from "../control-plane/supervisor/settings.ts";
import { writeOciArchive } from "../images/oci-archive.ts";
import { type GoModule, goPrograms } from "../tools/go-tool.ts";
import { dnsImage } from "./cluster-dns.ts";
import { sandboxImage } from "./supervisor/node-files.ts";

export const modules = join(import.meta.dirname, "go");
export const small = ["-ldflags", "-s -w"];

const kubernetes: GoModule = {
  name: "kubernetes-node",
  directory: moduleDirectory(newest),
  programs: {
    kubelet: "k8s.io/kubernetes/cmd/kubelet",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
  },
  flags: ["-ldflags", versionFlags(newest)],
};

const containerdPackage = "github.com/containerd/containerd/v2/cmd";
const containerd: GoModule = {
  name: "containerd",
  directory: join(modules, "containerd"),
  programs: {
    containerd: `${containerdPackage}/containerd`,
    "containerd-shim-runc-v2": `${containerdPackage}/containerd-shim-runc-v2`,
    ctr: `${containerdPackage}/ctr`,
  },
  flags: ["-tags=no_btrfs,no_zfs,no_devmapper", ...small],
};

const policies: GoModule = {
  name: "kube-router",
  directory: join(modules, "kube-router"),
  programs: { "kube-router": "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router" },
  flags: small,
};

/** The programs of the cluster's own pods, and an image of each. */
const pods: GoModule = {
  name: "coredns",
  directory: join(modules, "coredns"),
  programs: { coredns: ".", pause: "./pause" },
  flags: small,
  finish: async (directory) => {
    await writeProgramImage(directory, "coredns", dnsImage);
    await writeProgramImage(directory, "pause", sandboxImage);
  },
};

/** Writes an image of one static program next to it. */
export async function writeProgramImage(
  directory: string,
  program: string,
  name: string,
): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "vaultsync-program-"));
  try {
    await mkdir(join(root, "bin"));
    await copyFile(join(directory, program), join(root, "bin", program));
    const layers = [{ directory: root, owner: 0 }];
    const config = { Entrypoint: [`/bin/${program}`] };
    await writeOciArchive(join(directory, `${program}.tar`), { name, layers, config });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Optional parts of a node. */
export interface NodeFeatures {
  /** Enforces NetworkPolicies, with two more packages of Debian. */
  readonly networkPolicies?: boolean;
}

/** Returns the programs of a node from the user's cache, built once in about ten minutes. */
export async function nodePrograms(
  progress: Progress,
  { networkPolicies = false }: NodeFeatures = {},
): Promise<NodePrograms> {
  return {
    kubernetes: await goPrograms(kubernetes, progress),
    containerd: await goPrograms(containerd, progress),
    pods: await goPrograms(pods, progress),
    ...(networkPolicies && { policies: await goPrograms(policies, progress) }),
  };
}

import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { NodeFeatures } from "./programs.ts";

export const cniDirectory = "/usr/lib/cni";

/** Programs that a node takes from the machine, and the package of Debian that has them. */
const programs: Readonly<Record<string, string>> = {
  unshare: "util-linux",
  ip: "iproute2",
  nft: "nftables",
  runc: "runc",
  tar: "tar",
};

/** Programs that enforce NetworkPolicies, as above. */
const policyPrograms: typeof programs = { iptables: "iptables", ipset: "ipset" };

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function isOnPath(program: string): Promise<boolean> {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  const found = directories.map((directory) => isExecutable(join(directory, program)));
  return (await Promise.all(found)).includes(true);
}

/** Returns the packages of Debian whose programs a node needs and this machine lacks. */
export async function missingPackages({ networkPolicies = false }: NodeFeatures = {}): Promise<
  string[]
> {
  const missing: string[] = [];
  const needed = { ...programs, ...(networkPolicies && policyPrograms) };
  for (const [program, name] of Object.entries(needed))
    if (!(await isOnPath(program))) missing.push(name);
  if (!(await isExecutable(join(cniDirectory, "ptp")))) missing.push("containernetworking-plugins");
  return missing;
}

/** Returns why this machine cannot run a node, in one line, or `undefined`. */
export async function whyNoNode(features: NodeFeatures = {}): Promise<string | undefined> {
  if (process.platform !== "linux") return `a node needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "a node needs root: it mounts file systems for its pods";
  const missing = await missingPackages(features);
  if (missing.length === 0) return undefined;
  return `a node needs packages of Debian: apt-get install --no-install-recommends ${missing.join(" ")}`;
}

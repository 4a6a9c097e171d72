import { spawnSync } from "node:child_process";
import { containerRuntime } from "../test/lab/images/container-runtime.ts";
import type { NodeFeatures } from "../test/lab/node/programs.ts";
import { missingPackages, whyNoNode } from "../test/lab/node/requirements.ts";
import { runForMinutes } from "./menu/menu.ts";

const help = `Run the tests of a Vitest project that need Linux and root.

Usage: npm test -- image | mounts | node [--minutes N] [VITEST OPTIONS]

  --minutes N   time in which the operator on a node works with tokens that live for ten minutes (default: one change)

image needs runc, mounts and node need packages of Debian: what is missing is downloaded, or installed with apt-get. Where
that is impossible, it says so and exits with 0. Otherwise the exit code is Vitest's.
`;

/** Returns why this machine cannot run a node. Installs missing packages of Debian first. */
async function whyNoCluster(features: NodeFeatures): Promise<string | undefined> {
  const packages = await missingPackages(features);
  if (packages.length > 0 && process.platform === "linux" && process.getuid?.() === 0) {
    process.stdout.write(`Installing ${packages.join(", ")} with apt-get.\n`);
    spawnSync("apt-get", ["install", "--yes", "--no-install-recommends", ...packages]);
  }
  return whyNoNode(features);
}

async function whyNoContainers(): Promise<string | undefined> {
  const runtime = await containerRuntime();
  return "why" in runtime ? runtime.why : undefined;
}

/** Why this machine cannot run the tests of a project, in one line; `undefined` if it can. */
const reasons: Readonly<Record<string, () => Promise<string | undefined>>> = {
  image: whyNoContainers,
  mounts: () => whyNoCluster({}),
  node: () => whyNoCluster({ networkPolicies: true }),
};

async function main(project: string, args: readonly string[]): Promise<number> {
  const why = await reasons[project]?.();
  if (why !== undefined) {
    process.stdout.write(`NOT RUN: npm test -- ${project}: ${why}.\n`);
    return 0;
  }
  return runForMinutes(project, args);
}

const [project = "", ...args] = process.argv.slice(2);
if (args.includes("--help")) process.stdout.write(help);
else process.exitCode = await main(project, args);

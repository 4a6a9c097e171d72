import { spawnSync } from "node:child_process";
import type { TestProject } from "vitest/node";
import { loadImage } from "../../../scripts/cluster/image.ts";
import { installOperator, installVault } from "../../../scripts/cluster/install.ts";
import { terminalProgress } from "../../lab/control-plane/progress.ts";
import { type MonitoringPrograms, monitoringPrograms } from "../../lab/node/monitoring.ts";
import { missingPackages } from "../../lab/node/requirements.ts";
import { startNode } from "../../lab/node/start.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The vault in the cluster, and the password of its account. */
    vault: {
      readonly url: string;
      readonly outsideUrl: string;
      readonly ca: string;
      readonly password: string;
    };
    monitoring: MonitoringPrograms;
  }
}

const isDebian = process.platform === "linux" && spawnSync("apt-get", ["--version"]).status === 0;

/**
 * Global setup of Vitest: installs the missing packages of Debian, starts a node, and installs
 * vault and operator from their charts with the image of this checkout.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const progress = terminalProgress();
  const features = { networkPolicies: true };
  const packages = await missingPackages(features);
  if (packages.length > 0 && isDebian && process.getuid?.() === 0) {
    progress.note(`Installing ${packages.join(", ")} with apt-get.`);
    spawnSync("apt-get", ["install", "--yes", "--no-install-recommends", ...packages]);
  }
  project.provide("monitoring", await monitoringPrograms(progress));
  const cluster = await startNode({ progress, ...features });
  try {
    await loadImage(cluster, progress);
    const vault = await installVault(cluster);
    await installOperator(cluster, ["flags.restartWindow=5s"]);
    progress.note("Operator and vault run in the cluster.");
    project.provide("controlPlane", cluster.directory);
    project.provide("vault", { ...vault, password: vault.password.reveal() });
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
  return async () => {
    await cluster[Symbol.asyncDispose]();
  };
}

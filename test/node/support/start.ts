import type { TestProject } from "vitest/node";
import { loadImage } from "../../../scripts/cluster/image.ts";
import { installOperator, installVault } from "../../../scripts/cluster/install.ts";
import { type Progress, terminalProgress } from "../../lab/control-plane/progress.ts";
import { type MonitoringPrograms, monitoringPrograms } from "../../lab/node/monitoring.ts";
import { explained } from "../../lab/node/explained.ts";
import { startNode } from "../../lab/node/start.ts";

declare module "vitest" {
  interface ProvidedContext {
    monitoring: MonitoringPrograms;
    /** The vault in the cluster, and the password of its account. */
    vault: {
      readonly url: string;
      readonly outsideUrl: string;
      readonly ca: string;
      readonly password: string;
    };
  }
}

/**
 * Global setup of Vitest: starts a node that enforces NetworkPolicies, and installs vault and
 * operator from their charts with the image of this checkout: once more when that fails, because a
 * start depends on the machine. The reason is printed.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const progress = terminalProgress();
  project.provide("monitoring", await monitoringPrograms(progress));
  try {
    return await start(project, progress);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    progress.note(`The node is started once more: ${why}`);
    return start(project, progress);
  }
}

async function start(project: TestProject, progress: Progress): Promise<() => Promise<void>> {
  const cluster = await startNode({ progress, networkPolicies: true });
  try {
    await loadImage(cluster, progress);
    const vault = await explained(cluster, async () => {
      const installed = await installVault(cluster);
      await installOperator(cluster, ["flags.restartWindow=5s"]);
      return installed;
    });
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

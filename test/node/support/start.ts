import type { TestProject } from "vitest/node";
import { loadImage } from "../../../scripts/cluster/image.ts";
import { installOperator, installVault } from "../../../scripts/cluster/install.ts";
import { type Progress, terminalProgress } from "../../lab/control-plane/progress.ts";
import type { NodeFeatures } from "../../lab/node/programs.ts";
import { startNode, explained } from "../../lab/node/start.ts";
import { messageOf } from "../../../src/lib/errors.ts";

declare module "vitest" {
  interface ProvidedContext {
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
 * Starts a node, and installs vault and operator from their charts with the image of this checkout:
 * once more when that fails, because a start depends on the machine. The reason is printed.
 */
export async function start(
  project: TestProject,
  progress: Progress,
  features: NodeFeatures = {},
): Promise<() => Promise<void>> {
  try {
    return await startOnce(project, progress, features);
  } catch (error) {
    const why = messageOf(error);
    progress.note(`The node is started once more: ${why}`);
    return startOnce(project, progress, features);
  }
}

async function startOnce(
  project: TestProject,
  progress: Progress,
  features: NodeFeatures,
): Promise<() => Promise<void>> {
  const cluster = await startNode({ progress, ...features });
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

/** Global setup of Vitest. */
export default function setup(project: TestProject): Promise<() => Promise<void>> {
  return start(project, terminalProgress());
}

import type { TestProject } from "vitest/node";
import { terminalProgress } from "../../lab/control-plane/progress.ts";
import { type GitOpsPrograms, gitOpsPrograms } from "../../lab/gitops/programs.ts";

declare module "vitest" {
  interface ProvidedContext {
    gitOpsPrograms: GitOpsPrograms;
  }
}

/** Global setup of Vitest: builds Flux and Argo CD's comparison, unless they are in the cache. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("gitOpsPrograms", await gitOpsPrograms(terminalProgress()));
}

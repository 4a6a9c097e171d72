import type { TestProject } from "vitest/node";
import { terminalProgress } from "../../lab/control-plane/progress.ts";
import { type MonitoringPrograms, monitoringPrograms } from "../../lab/node/monitoring.ts";
import { start } from "./start.ts";

declare module "vitest" {
  interface ProvidedContext {
    monitoring: MonitoringPrograms;
  }
}

/** Global setup of Vitest: a node that enforces NetworkPolicies, and the programs of Prometheus. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const progress = terminalProgress();
  project.provide("monitoring", await monitoringPrograms(progress));
  return start(project, progress, { networkPolicies: true });
}

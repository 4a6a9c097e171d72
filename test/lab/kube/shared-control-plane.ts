import type { TestProject } from "vitest/node";
import { readHandle } from "../control-plane/handle.ts";
import { terminalProgress } from "../control-plane/progress.ts";
import { startControlPlane } from "../control-plane/start.ts";

/**
 * Vitest's global setup: starts one control plane for all tests of a run. To reuse a running one
 * (`npm run control-plane`), set VAULTSYNC_CONTROL_PLANE to its directory.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running = process.env["VAULTSYNC_CONTROL_PLANE"];
  if (running) {
    project.provide("controlPlane", (await readHandle(running)).directory);
    return async () => {};
  }
  const progress = terminalProgress();
  const controlPlane = await startControlPlane({ progress });
  progress.note(`Control plane ready after ${(controlPlane.timings.total / 1000).toFixed(1)} s`);
  project.provide("controlPlane", controlPlane.directory);
  return async () => {
    await controlPlane[Symbol.asyncDispose]();
  };
}

import type { TestProject } from "vitest/node";
import { ControlPlane } from "../../control-plane/control-plane.ts";
import { readHandle } from "../../control-plane/handle.ts";

/**
 * Vitest's global setup, after the control plane: the definitions and the operator's rights, once for all tests. The rights are those of
 * deploy/base, and nothing more.
 */
export default async function install(project: TestProject): Promise<void> {
  const plane = new ControlPlane(await readHandle(project.getProvidedContext().controlPlane));
  const steps = [
    ["apply", "-k", "deploy/base"],
    ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"],
  ];
  for (const args of steps) {
    const { code, stderr } = await plane.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  }
}

import type { TestProject } from "vitest/node";
import { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { readHandle } from "../../lab/control-plane/handle.ts";

/**
 * Global setup of vitest, after the control plane: installs the CRDs, the policies, and the RBAC
 * rules of deploy/base, once for all tests.
 */
export default async function install(project: TestProject): Promise<void> {
  const plane = new ControlPlane(await readHandle(project.getProvidedContext().controlPlane));
  const steps = [
    ["apply", "-k", "crds"],
    ["apply", "-k", "deploy/cluster"],
    ["apply", "-k", "deploy/base"],
    ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"],
  ];
  for (const args of steps) {
    const { code, stderr } = await plane.kubectl(args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
  }
}

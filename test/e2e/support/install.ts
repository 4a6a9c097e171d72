import type { TestProject } from "vitest/node";
import { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { readHandle } from "../../lab/control-plane/handle.ts";
import { installOperator } from "../../lab/kube/install-crds.ts";

/**
 * Global setup of vitest, after the control plane: installs the CRDs, the policies, and the RBAC
 * rules of deploy/base, once for all tests.
 */
export default async function install(project: TestProject): Promise<void> {
  const plane = new ControlPlane(await readHandle(project.getProvidedContext().controlPlane));
  await installOperator(plane);
}

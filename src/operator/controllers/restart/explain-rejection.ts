import type { WorkloadKind } from "../../api/rollout-restart.ts";
import type { KubeError } from "../../kube/kube-error.ts";
import { workloadDescriptor } from "./workload.ts";

/** Returns why the API server rejected a change of a workload, and what to do. */
export function explainRejection(kind: WorkloadKind, error: KubeError): string {
  const { plural } = workloadDescriptor[kind];
  if (error.policy !== undefined) {
    return `the ValidatingAdmissionPolicy ${error.policy} denies to patch the ${kind}: ask an administrator to change the policy`;
  }
  return error.kind === "Forbidden"
    ? `the API server denied to patch the ${kind}: grant the operator get and patch on ${plural}, or check the admission policies`
    : `the API server rejected the change of the pod template (${error.kind}): check the ${kind} and the admission policies`;
}

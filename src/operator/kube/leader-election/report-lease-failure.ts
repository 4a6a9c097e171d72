import { isKubeError, KubeError } from "../kube-error.ts";
import type { LeaseOptions } from "./lease-options.ts";

/**
 * Reports why a Lease cannot be taken; `request` identifies the attempts. A lost race is no
 * failure: another process has the Lease.
 */
export function reportLeaseFailure(
  request: object,
  { problems, namespace, name }: Pick<LeaseOptions, "problems" | "namespace" | "name">,
  error: unknown,
): void {
  if (isKubeError(error, "Conflict", "AlreadyExists")) return;
  const operation = `get leases ${namespace}/${name}`;
  const failure = isKubeError(error)
    ? error
    : new KubeError({ kind: "Timeout", operation, reason: "Deadline" });
  problems?.failed(request, { resource: "leases", ownNamespace: namespace }, failure);
}

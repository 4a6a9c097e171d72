import { ClusterAccess } from "../controllers/connection/cluster-access.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { type KubeObject, NAMESPACES } from "../kube/resource.ts";
import { type Check, type Checks, firstOf } from "./check.ts";
import type { NamedReferences } from "./references-of.ts";

interface AccessCheckOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** The names that the resources of the namespace refer to. */
  readonly references: NamedReferences;
}

/**
 * Checks that a ClusterVaultConnection lets a namespace read the names that its resources refer to.
 * @throws KubeError
 */
export async function checkAccess(
  { ok, failed, skipped }: Checks,
  object: KubeObject,
  { api, namespace, references }: AccessCheckOptions,
  signal: AbortSignal,
): Promise<Check> {
  const { name } = object.metadata;
  const found = await api
    .getMetadata(NAMESPACES, { name: namespace }, signal)
    .catch((error: unknown) => {
      if (isKubeError(error, "Forbidden")) return undefined;
      throw error;
    });
  if (found === undefined)
    return skipped("access", `no permission to read the labels of namespace ${namespace}`);
  const namespaces = new Map([[namespace, found.metadata.labels ?? {}]]);
  const access = new ClusterAccess({ connections: new Map([[name, object]]), namespaces }).of(
    name,
    namespace,
  );
  const remedy = "add an entry or a name to spec.access, or label the namespace";
  if (typeof access === "string")
    return failed("access", `no entry of spec.access selects the namespace ${namespace}`, remedy);
  const denied = [
    ...[...references.secrets].filter((secret) => !access("secret", secret)),
    ...[...references.files].filter((file) => !access("file", file)),
  ];
  if (denied.length === 0)
    return ok(
      "access",
      `the namespace ${namespace} may read every name that its resources refer to`,
    );
  return failed("access", `the namespace ${namespace} may not read ${firstOf(denied)}`, remedy);
}

import { parseAllDocuments } from "yaml";
import { z } from "zod";

const object = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
});
type ManifestObject = z.output<typeof object>;

/** Returns the objects of rendered manifests. */
export const objectsOf = (yaml: string): ManifestObject[] =>
  parseAllDocuments(yaml).map((document) => object.parse(document.toJS()));

/**
 * Kinds that Flux applies before all others, in this order; it deletes in the reverse one:
 * `ReconcileOrder` of fluxcd/pkg/ssa.
 */
const FIRST_OF_FLUX = [
  "CustomResourceDefinition",
  "Namespace",
  "ClusterClass",
  "RuntimeClass",
  "PriorityClass",
  "StorageClass",
  "VolumeSnapshotClass",
  "IngressClass",
  "GatewayClass",
  "ResourceQuota",
  "ServiceAccount",
  "Role",
  "ClusterRole",
  "RoleBinding",
  "ClusterRoleBinding",
  "ConfigMap",
  "Secret",
  "Service",
  "LimitRange",
  "Deployment",
  "StatefulSet",
  "CronJob",
  "PodDisruptionBudget",
];

function rankOfFlux({ kind }: ManifestObject): number {
  const rank = FIRST_OF_FLUX.indexOf(kind);
  return rank < 0 ? FIRST_OF_FLUX.length : rank;
}

/**
 * Returns steps of objects that are deleted together when their Kustomization of Flux is deleted.
 */
export function deletionsOfFlux(objects: readonly ManifestObject[]): ManifestObject[][] {
  const pruned = objects.filter(
    ({ metadata }) => metadata.annotations["kustomize.toolkit.fluxcd.io/prune"] !== "disabled",
  );
  return pruned.toSorted((a, b) => rankOfFlux(b) - rankOfFlux(a)).map((one) => [one]);
}

/**
 * Returns the objects that are deleted together when their Application of Argo CD is deleted: never
 * a CRD.
 */
export function deletionsOfArgo(objects: readonly ManifestObject[]): ManifestObject[][] {
  const isKept = ({ metadata }: ManifestObject): boolean =>
    metadata.annotations["argocd.argoproj.io/sync-options"]?.split(",").includes("Delete=false") ===
    true;
  return [objects.filter((one) => one.kind !== "CustomResourceDefinition" && !isKept(one))];
}

/** Returns the command that deletes an object without waiting for its end. */
export function deleteCommand({
  apiVersion,
  kind,
  metadata: { name, namespace },
}: ManifestObject): string {
  const [group = "", version] = apiVersion.split("/");
  const type = version === undefined ? kind : `${kind}.${version}.${group}`;
  return `kubectl delete ${type} ${name} ${namespace === undefined ? "" : `-n ${namespace}`} --ignore-not-found --wait=false`;
}

import { clusterVaultFileKind, clusterVaultSecretKind, type Kind } from "../api/kinds.ts";
import type { Labels } from "../api/namespace-selector.ts";
import { isKubeError, type KubeError } from "../kube/kube-error.ts";
import { ALL_NAMESPACES, type KubeObject, NAMESPACES } from "../kube/resource.ts";
import { type Cluster, listAll } from "./cluster.ts";
import { selectionOf, selects } from "../api/fan-out.ts";

/** The kinds of resources with targets in several namespaces. */
const fanOutKinds: readonly Kind[] = [clusterVaultSecretKind, clusterVaultFileKind];

/** The cluster-scoped resources with targets, as far as a user may list them. */
export interface FannedOutResources {
  readonly objects: readonly KubeObject[];
  /** The kinds that the user may not list. */
  readonly hidden: readonly { readonly kind: Kind; readonly error: KubeError }[];
}

/**
 * Lists the cluster-scoped resources with targets, sorted by name. A cluster whose CRDs are older
 * than this program has none. @throws KubeError
 */
export async function listFannedOut(
  { api }: Pick<Cluster, "api">,
  signal: AbortSignal,
  labelSelector?: string,
): Promise<FannedOutResources> {
  const objects: KubeObject[] = [];
  const hidden: FannedOutResources["hidden"][number][] = [];
  const cluster = { api, namespace: ALL_NAMESPACES };
  for (const kind of fanOutKinds) {
    try {
      objects.push(...(await listAll(cluster, kind, signal, labelSelector)));
    } catch (error) {
      if (isKubeError(error, "Forbidden")) hidden.push({ kind, error });
      else if (!isKubeError(error, "NotServed")) throw error;
    }
  }
  return { objects, hidden };
}

/**
 * Returns the labels of a namespace; `unknown` if the user may not read them, `absent` if there is
 * no such namespace. @throws KubeError
 */
export async function labelsOf(
  { api }: Pick<Cluster, "api">,
  namespace: string,
  signal: AbortSignal,
): Promise<Labels | "unknown" | "absent"> {
  try {
    return (await api.getMetadata(NAMESPACES, { name: namespace }, signal)).metadata.labels ?? {};
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return "unknown";
    if (isKubeError(error, "NotFound")) return "absent";
    throw error;
  }
}

/** Returns the objects that select a namespace, or may: its labels may be unreadable. */
async function selecting(
  { api, namespace }: Cluster,
  objects: readonly KubeObject[],
  signal: AbortSignal,
): Promise<KubeObject[]> {
  if (objects.length === 0) return [];
  const labels = await labelsOf({ api }, namespace, signal);
  if (labels === "absent") return [];
  const known = labels === "unknown" ? undefined : labels;
  return objects.filter(({ spec }) => {
    const selection = selectionOf(spec);
    return selection !== undefined && selects(selection, namespace, known) !== false;
  });
}

/**
 * Lists the cluster-scoped resources that have a target in the namespace of a cluster, or may: all
 * of them for all namespaces. The users of one namespace need not be allowed to read them.
 * @throws KubeError
 */
export async function listFannedOutInto(
  cluster: Cluster,
  signal: AbortSignal,
  labelSelector?: string,
): Promise<readonly KubeObject[]> {
  const { objects, hidden } = await listFannedOut(cluster, signal, labelSelector);
  if (cluster.namespace !== ALL_NAMESPACES) return selecting(cluster, objects, signal);
  const [denied] = hidden;
  if (denied !== undefined) throw denied.error;
  return objects;
}

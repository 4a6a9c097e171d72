import type { Labels } from "../../api/namespace-selector.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { ALL_NAMESPACES, NAMESPACES } from "../../kube/resource.ts";
import type { Cluster } from "../cluster.ts";
import { labelsOf, listFannedOut } from "../list-fanned-out.ts";
import { showsTargetIn } from "../shown-namespaces.ts";
import { selectionOf, selects } from "../../api/fan-out.ts";
import { readUsage, type Usage, type UsingResource, usingResource } from "./read-usage.ts";

/** Labels by namespace, of all that a command concerns; `undefined` if the user may not read them. */
type Namespaces = ReadonlyMap<string, Labels | undefined>;

/** Returns the namespaces that a command concerns; `undefined` if the user may not list all. */
async function readNamespaces(
  { api, namespace }: Cluster,
  signal: AbortSignal,
): Promise<Namespaces | undefined> {
  if (namespace !== ALL_NAMESPACES) {
    const labels = await labelsOf({ api }, namespace, signal);
    if (labels === "absent") return new Map();
    return new Map([[namespace, labels === "unknown" ? undefined : labels]]);
  }
  const found = new Map<string, Labels>();
  const options = { namespace, paged: true, metadataOnly: true };
  try {
    for await (const { items } of api.list(NAMESPACES, options, signal))
      for (const { metadata } of items) found.set(metadata.name, metadata.labels ?? {});
    return found;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** Returns the namespaces of a command that a resource selects, or may select. */
function selectedBy({ object }: UsingResource, known: Namespaces | undefined): readonly string[] {
  const selection = selectionOf(object["spec"]);
  if (selection === undefined) return [];
  if (known === undefined) return selection.namespaces ?? [];
  return [...known].flatMap(([namespace, labels]) =>
    selects(selection, namespace, labels) === false ? [] : [namespace],
  );
}

/** Returns a cluster-scoped resource in one namespace; without versions that its status hides. */
function inNamespace(resource: UsingResource, namespace: string): UsingResource {
  const entries =
    namespace !== "" && showsTargetIn(resource.object, namespace)
      ? resource.entries
      : resource.entries.map(({ entry }) => ({ entry, version: undefined }));
  return { ...resource, namespace, entries };
}

/** Reports whether the namespaces of a resource depend on labels. */
const dependsOnLabels = ({ object }: UsingResource): boolean =>
  selectionOf(object["spec"])?.namespaceSelector !== undefined;

/**
 * Reads the same as `readUsage`, and the cluster-scoped resources in each namespace that they
 * select. @throws KubeError
 */
export async function readWholeUsage(cluster: Cluster, signal: AbortSignal): Promise<Usage> {
  const usage = await readUsage(cluster, signal);
  const { objects, hidden } = await listFannedOut(cluster, signal);
  const clusterWide = objects.map(usingResource);
  const isNeeded = clusterWide.length > 0;
  const known = isNeeded ? await readNamespaces(cluster, signal) : new Map<string, Labels>();
  const areHidden = known === undefined || [...known.values()].includes(undefined);
  const isForAll = cluster.namespace === ALL_NAMESPACES;
  const expanded = clusterWide.flatMap((resource) => {
    const selected = selectedBy(resource, known);
    const places = selected.length === 0 && isForAll ? [""] : selected;
    return places.map((namespace) => inNamespace(resource, namespace));
  });
  return {
    ...usage,
    resources: [...usage.resources, ...expanded],
    clusterWide,
    hidden: [
      ...hidden.map(({ kind }) => kind.plural),
      ...(areHidden && clusterWide.some(dependsOnLabels) ? [NAMESPACES.plural] : []),
    ],
  };
}

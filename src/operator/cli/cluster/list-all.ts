import { type KubeObject, keyOf, type ResourceDescriptor } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";

/** Returns all objects of a kind, sorted by namespace and name. @throws KubeError */
export async function listAll(
  { api, namespace }: Cluster,
  kind: ResourceDescriptor,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const objects = new Map<string, KubeObject>();
  for await (const { items } of api.list(kind, { namespace, paged: true }, signal)) {
    for (const object of items) objects.set(keyOf(object.metadata), object);
  }
  return [...objects.values()];
}

import { vaultPushKind } from "../../api/kinds.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import {
  CONFIG_MAPS,
  keyOf,
  type KubeObject,
  type ObjectMeta,
  type ResourceDescriptor,
  SECRETS,
} from "../../kube/resource.ts";
import type { Cluster } from "../cluster.ts";
import { type Release, releaseOfPush, releaseOfTarget } from "./release-patch.ts";

/** An object to release. */
export interface Releasable {
  readonly kind: ResourceDescriptor;
  readonly metadata: ObjectMeta;
  readonly release: Release;
  /** Returns what another state of the object still has of the operator. */
  readonly releaseOf: (metadata: ObjectMeta) => Release | undefined;
}

const sources = [
  { kind: SECRETS, releaseOf: releaseOfTarget },
  { kind: CONFIG_MAPS, releaseOf: releaseOfTarget },
  { kind: vaultPushKind, releaseOf: releaseOfPush },
] as const;

/**
 * Lists the metadata of a whole collection; nothing if the API server does not serve it. @throws
 * KubeError
 */
async function metadataOf(
  { api, namespace }: Cluster,
  kind: ResourceDescriptor,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const objects = new Map<string, KubeObject>();
  try {
    for await (const { items } of api.list(
      kind,
      { namespace, paged: true, metadataOnly: true },
      signal,
    )) {
      for (const object of items) objects.set(keyOf(object.metadata), object);
    }
  } catch (error) {
    if (!isKubeError(error, "NotServed")) throw error;
  }
  return [...objects.values()];
}

/**
 * Finds everything that the operator left in a namespace or the cluster. It reads the metadata of
 * all Secrets and ConfigMaps, not only of those with the operator's label: garbage collection
 * follows an owner reference also where a user removed the label.
 * @throws KubeError
 */
export async function findReleases(cluster: Cluster, signal: AbortSignal): Promise<Releasable[]> {
  const found: Releasable[] = [];
  for (const { kind, releaseOf } of sources) {
    for (const { metadata } of await metadataOf(cluster, kind, signal)) {
      const release = releaseOf(metadata);
      if (release !== undefined) found.push({ kind, metadata, release, releaseOf });
    }
  }
  return found.toSorted((one, other) => keyOf(one.metadata).localeCompare(keyOf(other.metadata)));
}

import { filteredView } from "../kube/cache/filtered-view.ts";
import type { KubeObject } from "../kube/resource.ts";
import { isObject } from "../../lib/is-object.ts";
import type { WatchedObjects } from "../controllers.ts";
import { connectionKey } from "../api/connection-key.ts";
import { shardOf } from "./shard-of.ts";

/**
 * Returns the part of the watched objects that one shard is responsible for: its connections and
 * the resources that refer to them. Targets and credentials are not divided, because only the
 * resources lead to them, nor are namespaces.
 */
export function viewOfShard(
  objects: WatchedObjects,
  shard: number,
  shards: number,
): WatchedObjects {
  if (shards === 1) return objects;
  const isResourceOfShard = (_: string, object: KubeObject): boolean =>
    shardOf(connectionOf(object), shards) === shard;
  const isOfShard = (key: string): boolean => shardOf(key, shards) === shard;
  return {
    ...objects,
    connections: filteredView(objects.connections, isOfShard),
    clusterConnections:
      objects.clusterConnections && filteredView(objects.clusterConnections, isOfShard),
    secrets: filteredView(objects.secrets, isResourceOfShard),
    files: filteredView(objects.files, isResourceOfShard),
    clusterSecrets:
      objects.clusterSecrets && filteredView(objects.clusterSecrets, isResourceOfShard),
    clusterFiles: objects.clusterFiles && filteredView(objects.clusterFiles, isResourceOfShard),
    pushes: filteredView(objects.pushes, isResourceOfShard),
  };
}

/**
 * Returns the key of the connection that a resource refers to; a malformed reference counts as an
 * empty name.
 */
function connectionOf({ metadata, spec }: KubeObject): string {
  const reference = isObject(spec) ? spec["connectionRef"] : undefined;
  const { kind, name } = isObject(reference) ? reference : {};
  const ref = {
    kind: kind === "ClusterVaultConnection" ? kind : "VaultConnection",
    name: typeof name === "string" ? name : "",
  } as const;
  return connectionKey(ref, metadata.namespace ?? "");
}

import { createHash } from "node:crypto";
import { filteredView } from "../kube/cache/filtered-view.ts";
import type { KubeObject } from "../kube/resource.ts";
import { isObject } from "../../lib/is-object.ts";
import type { WatchedObjects } from "../controllers.ts";
import { connectionKey } from "../api/connection-key.ts";

/**
 * Returns the weight of a shard for a connection with this digest: equally distributed (the final
 * mix of MurmurHash3).
 */
function weight(digest: number, shard: number): number {
  let mixed = digest ^ Math.imul(shard + 1, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Returns the shard, from 0 to `shards` - 1, of a connection and of the resources that refer to it.
 * Rendezvous hashing: if the number of shards grows from n to n + 1, only one of n + 1 connections
 * changes its shard. Every reconcile asks for it, so the connection is hashed once for all shards.
 */
export function shardOf(connection: string, shards: number): number {
  if (shards === 1) return 0;
  const digest = createHash("sha256").update(connection).digest().readUInt32BE();
  let [best, highest] = [0, -1];
  for (let shard = 0; shard < shards; shard += 1) {
    const value = weight(digest, shard);
    if (value > highest) [best, highest] = [shard, value];
  }
  return best;
}

/**
 * Returns how many shards a replica may hold. The quotas of all replicas add up to the number of
 * shards and differ by at most one: no replica waits for another to decide.
 */
export function quotaOf(identity: string, replicas: ReadonlySet<string>, shards: number): number {
  const sorted = [...new Set([...replicas, identity])].sort();
  const rest = shards % sorted.length;
  return Math.floor(shards / sorted.length) + (sorted.indexOf(identity) < rest ? 1 : 0);
}

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

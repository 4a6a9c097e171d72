import { createHash } from "node:crypto";

/** Returns the weight of a shard for a connection: equally distributed, and the same in every process. */
function weight(connection: string, shard: number): number {
  return createHash("sha256").update(`${shard}\n${connection}`).digest().readUIntBE(0, 6);
}

/**
 * Returns the shard, from 0 to `shards` - 1, of a connection and of the resources that refer to it. Rendezvous hashing: if the
 * number of shards grows from n to n + 1, only one of n + 1 connections changes its shard.
 */
export function shardOf(connection: string, shards: number): number {
  let [best, highest] = [0, -1];
  for (let shard = 0; shard < shards; shard += 1) {
    const value = weight(connection, shard);
    if (value > highest) [best, highest] = [shard, value];
  }
  return best;
}

/**
 * Returns how many shards a replica may hold. The quotas of all replicas add up to the number of shards and differ by at most one,
 * so that no replica waits for another to decide.
 */
export function quotaOf(identity: string, replicas: ReadonlySet<string>, shards: number): number {
  const sorted = [...new Set([...replicas, identity])].sort();
  const rest = shards % sorted.length;
  return Math.floor(shards / sorted.length) + (sorted.indexOf(identity) < rest ? 1 : 0);
}

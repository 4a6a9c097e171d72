/** Start of the names of all Leases of operators. */
export const LEASE_NAME = "vaultsync";

/**
 * Returns the name of the Lease of one shard. Its holder is the only process that writes for the
 * connections of the shard.
 */
export function shardLeaseName(shard: number, shards: number): string {
  return shards === 1 ? LEASE_NAME : `${LEASE_NAME}-${shard}-of-${shards}`;
}

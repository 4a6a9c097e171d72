/** Start of the names of all Leases of operators. */
export const LEASE_NAME = "vaultsync";

/**
 * Returns the name of the Lease of one shard. Its holder is the only process that writes for the
 * connections of the shard.
 */
export function shardLeaseName(shard: number, shards: number): string {
  return shards === 1 ? LEASE_NAME : `${LEASE_NAME}-${shard}-of-${shards}`;
}

/**
 * Returns the number of shards by the name of the Lease of one; `undefined` for any other Lease,
 * such as the one of a replica.
 */
export function shardsByLeaseName(name: string): number | undefined {
  const named = /^vaultsync(?:-\d+-of-(?<shards>\d{1,4}))?$/u.exec(name);
  return named === null ? undefined : Number(named.groups?.["shards"] ?? 1);
}

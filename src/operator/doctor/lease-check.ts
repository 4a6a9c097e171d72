import { isObject } from "../../lib/is-object.ts";
import { firstOf } from "../lib/first-of.ts";
import type { KubeObject } from "../kube/resource.ts";
import { shardLeaseName, shardsByLeaseName } from "../api/lease-names.ts";
import { type Check, checksOf } from "./check.ts";

/** Time without a renewal after which a Lease has expired for certain, in milliseconds. */
const EXPIRED_MS = 30_000;

const { ok, failed } = checksOf("operator");

/** The Lease of one shard: its holder works on the connections of the shard. */
interface ShardLease {
  readonly name: string;
  readonly shards: number;
  readonly holder: string;
  /** In milliseconds since the epoch. */
  readonly renewedAt: number;
}

/** Returns the Lease of a shard; `undefined` for any other Lease, such as the one of a replica. */
function shardLease({ metadata: { name }, spec }: KubeObject): ShardLease | undefined {
  const shards = shardsByLeaseName(name);
  if (shards === undefined) return undefined;
  const { holderIdentity, renewTime } = isObject(spec) ? spec : {};
  return {
    name,
    shards,
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    renewedAt: (typeof renewTime === "string" && Date.parse(renewTime)) || 0,
  };
}

/**
 * Checks that each shard has a replica that works on it. The Leases of another number of shards
 * stay after a change of the flag: the last renewed one has the current number.
 */
export function leaseCheck(objects: readonly KubeObject[], namespace: string, now: number): Check {
  const leases = objects.flatMap((object) => shardLease(object) ?? []);
  const [latest] = leases.toSorted((one, other) => other.renewedAt - one.renewedAt);
  const remedy = `start the operator, for example kubectl -n ${namespace} rollout restart deployment/vaultsync; --operator-namespace names another namespace`;
  if (latest === undefined)
    return failed("running", `no Lease of an operator in namespace ${namespace}`, remedy);
  const { shards } = latest;
  const age = ({ renewedAt }: ShardLease): string =>
    `${Math.max(0, Math.round((now - renewedAt) / 1000))} s ago`;
  const isHeld = ({ holder, renewedAt }: ShardLease): boolean =>
    holder !== "" && now - renewedAt < EXPIRED_MS;
  const all = Array.from({ length: shards }, (_, shard) => shardLeaseName(shard, shards)).map(
    (name) => ({
      name,
      lease: leases.find((one) => one.name === name),
    }),
  );
  const free = all.filter(({ lease }) => lease === undefined || !isHeld(lease));
  if (free.length > 0) {
    const what = firstOf(free, {
      text: ({ name, lease }) =>
        lease === undefined
          ? `there is no Lease ${name}`
          : `the Lease ${name} was renewed ${age(lease)} for the last time`,
    });
    const whom = shards === 1 ? "" : ` ${free.length} of ${shards} shards`;
    return failed("running", `no operator leads${whom}: ${what}`, remedy);
  }
  const holders = new Set(
    all.flatMap(({ lease }) => (lease === undefined ? [] : lease.holder.split("_").slice(0, 1))),
  );
  const names = firstOf([...holders]);
  return ok(
    "running",
    shards === 1
      ? `${names} leads; it renewed its Lease ${age(latest)}`
      : `the ${shards} shards have a leader (${names}); the last Lease was renewed ${age(latest)}`,
  );
}

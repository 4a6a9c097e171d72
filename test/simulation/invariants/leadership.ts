import { connectionKey } from "../../../src/operator/api/connection-key.ts";
import { API_GROUP } from "../../../src/operator/api/kinds.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import { shardOf } from "../../../src/operator/shards/shard-of.ts";
import { isFanOutOwner } from "../fanned-out.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { SYSTEM_NAMESPACE, Violation, type World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import type { Spec } from "./spec-items.ts";
import { mergingOwners, ownerOf } from "./target-write.ts";

/**
 * Time for which the last holder of a Lease may write, in milliseconds: the duration of the Lease.
 */
const LEASE_MS = 15_000;

/** The Lease of one shard, or of all connections if there is one shard. */
export const SHARD_LEASE = /^vaultsync(-\d+-of-\d+)?$/;

interface FormerHolder {
  readonly mayWriteUntil: number;
  readonly wasDeleted: boolean;
}

/** The current holder of a Lease, and former holders by the name of the replica. */
interface Holders {
  now: string;
  readonly former: Map<string, FormerHolder>;
}

/** Follows who holds the Leases of the shards. */
export class Leadership {
  readonly #world: World;
  /** By the name of the Lease. */
  readonly #leases = new Map<string, Holders>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes in a change of any object. */
  remember({ resource, before, after }: Change): void {
    const { namespace, name } = (after ?? before)!.metadata;
    if (resource.kind !== LEASES.kind || namespace !== SYSTEM_NAMESPACE || !SHARD_LEASE.test(name))
      return;
    const { holderIdentity = "" } = (after?.["spec"] ?? {}) as { holderIdentity?: string };
    const holders = this.#leases.get(name) ?? { now: "", former: new Map<string, FormerHolder>() };
    this.#leases.set(name, holders);
    if (holderIdentity === holders.now) return;
    const mayWriteUntil = this.#world.clock.monotonic() + LEASE_MS;
    if (holders.now !== "") holders.former.set(holders.now, { mayWriteUntil, wasDeleted: !after });
    holders.now = holderIdentity;
  }

  /**
   * Only the holder of the Lease writes, or a former one while there is none. A user who deletes
   * the Lease makes two leaders (I7).
   * @param keys keys of connections, or namespaces of workloads, one of which is in the shard that
   * the write belongs to; empty if any may be
   */
  check(name: string, user: string, keys: readonly string[] = []): void {
    const { leaderElect, shards } = this.#world.replicas.configOf(user);
    if (!leaderElect) return;
    const leases =
      keys.length === 0 ? [...this.#leases.keys()] : keys.map((key) => leaseName(key, shards));
    if (leases.some((lease) => this.#mayWrite(lease, user))) return;
    const held = [...new Set(leases)].map(
      (lease) => `${this.#leases.get(lease)?.now || "no replica"} held ${lease}`,
    );
    throw new Violation(
      "I7",
      `${user} wrote ${name} while ${held.join(" and ") || "there was no Lease"}`,
    );
  }

  /** Reports whether a replica may write for a connection. */
  leads(user: string, connection: string): boolean {
    const { leaderElect, shards } = this.#world.replicas.configOf(user);
    return !leaderElect || this.#mayWrite(leaseName(connection, shards), user);
  }

  #mayWrite(lease: string, user: string): boolean {
    const { now, former } = this.#leases.get(lease) ?? {
      now: "",
      former: new Map<string, FormerHolder>(),
    };
    if (user === now) return true;
    const last = former.get(user);
    const mayStillWrite = last !== undefined && this.#world.clock.monotonic() < last.mayWriteUntil;
    return mayStillWrite && (now === "" || last.wasDeleted);
  }
}

const leaseName = (key: string, shards: number): string =>
  shards === 1 ? "vaultsync" : `vaultsync-${shardOf(key, shards)}-of-${shards}`;

/**
 * Returns the keys whose shards may write an object, for `Leadership.check`: the keys of its
 * connections, or the namespace of a workload.
 */
export function shardKeysOf(history: KnownSpecs, { resource, before, after }: Change): string[] {
  const { kind, metadata } = (after ?? before)!;
  const { namespace = "", name } = metadata;
  if (resource.group === workloadDescriptor.Deployment.group) return [namespace];
  if (resource.kind === "VaultConnection" || resource.kind === "ClusterVaultConnection")
    return [namespace === "" ? name : `${namespace}/${name}`];
  const isResource = resource.group === API_GROUP;
  if (!isResource && resource.kind !== SECRETS.kind && resource.kind !== CONFIG_MAPS.kind)
    return [];
  if (isResource && before && after && showsRestart(before, after)) return [];
  const merges = isResource ? [] : mergingOwners(before, after);
  const whole = isResource ? `${kind}/${name}` : (ownerOf((after ?? before)!) ?? "");
  return (
    (merges.length > 0 ? merges : [whole])
      // A namespace that a resource does not select any more is released by the same shard.
      .flatMap((owner) => history.recent(isFanOutOwner(owner) ? undefined : namespace, owner))
      .map(({ connectionRef }) => keyOfConnection(connectionRef, namespace))
  );
}

function keyOfConnection({ kind, name }: Spec["connectionRef"], namespace: string): string {
  const isCluster = kind === "ClusterVaultConnection";
  return connectionKey({ kind: isCluster ? kind : "VaultConnection", name }, namespace);
}

const restartsOf = ({ status }: KubeObject): string =>
  JSON.stringify((status as { restarts?: unknown } | undefined)?.restarts);

/**
 * Reports whether a status shows another restart of a workload. The workload may be in another
 * shard than the resource.
 */
const showsRestart = (before: KubeObject, after: KubeObject): boolean =>
  restartsOf(before) !== restartsOf(after);

import type { Clock } from "../../lib/clock.ts";
import type { KubeObject } from "../kube/resource.ts";
import {
  LEASE_LABEL,
  type LeaseRecord,
  readAgain,
  readLease,
  LeaseObserver,
} from "../kube/leader-election/lease-record.ts";

/**
 * Label of the same Leases as `LEASE_LABEL`: the number of shards that the holder divides the
 * connections into.
 */
export const SHARDS_LABEL = "vaultsync.dev/shards";
/**
 * Time in milliseconds without a renewal after which the Lease of a replica that was killed is
 * deleted.
 */
const FORGET_REPLICA_MS = 600_000;

/** The Leases of all replicas and shards, as last read, and which of them are free. */
export class ShardBoard {
  readonly #clock: Clock;
  #records = new Map<string, LeaseRecord>();
  readonly #observers = new Map<string, LeaseObserver>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces the content by a complete list. */
  update(leases: readonly KubeObject[]): void {
    const before = this.#records;
    this.#records = new Map();
    for (const lease of leases) {
      const known = before.get(lease.metadata.name);
      this.add(known === undefined ? readLease(lease) : readAgain(known, lease));
    }
  }

  /** Adds one Lease until the next list. */
  add(record: LeaseRecord): void {
    this.#records.set(record.object.metadata.name, record);
    this.#observer(record).idleMs(record);
  }

  record(name: string): LeaseRecord | undefined {
    return this.#records.get(name);
  }

  /** Reports whether another process may take the Lease. */
  isFree(record: LeaseRecord): boolean {
    return this.#observer(record).isFree(record);
  }

  /**
   * Returns the identities of the replicas that divide the connections into this number of shards
   * and renew their Lease.
   */
  replicas(shards: number): ReadonlySet<string> {
    const alike = this.#live("replica").filter((record) => divisionOf(record) === `${shards}`);
    return new Set(alike.map(({ holder }) => holder));
  }

  /**
   * Reports whether a shard of another division of the connections has a holder. That holder may
   * write for any connection.
   */
  hasOtherDivision(shards: number): boolean {
    return this.#live("shard").some((record) => divisionOf(record) !== `${shards}`);
  }

  /**
   * Returns the holders of the Leases of shards that other processes hold, in the order of the
   * names of the Leases.
   */
  holders(identity: string): readonly (readonly [lease: string, holder: string])[] {
    const all = [...this.#records.values()].filter((record) => kindOf(record) !== "replica");
    return all
      .filter((record) => record.holder !== identity && !this.isFree(record))
      .map(({ object: { metadata }, holder }) => [metadata.name, holder] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Returns the Leases of replicas that ended without deleting them. */
  get abandoned(): readonly KubeObject[] {
    const replicas = [...this.#records.values()].filter((record) => kindOf(record) === "replica");
    return replicas
      .filter((record) => this.#observer(record).idleMs(record) >= FORGET_REPLICA_MS)
      .map(({ object }) => object);
  }

  #live(kind: "shard" | "replica"): LeaseRecord[] {
    return [...this.#records.values()].filter(
      (record) => kindOf(record) === kind && !this.isFree(record),
    );
  }

  #observer({ object: { metadata } }: LeaseRecord): LeaseObserver {
    const observer = this.#observers.get(metadata.name) ?? new LeaseObserver(this.#clock);
    this.#observers.set(metadata.name, observer);
    return observer;
  }
}

const labelOf = ({ object }: LeaseRecord, label: string): string | undefined =>
  object.metadata.labels?.[label];
const kindOf = (record: LeaseRecord): string | undefined => labelOf(record, LEASE_LABEL);
const divisionOf = (record: LeaseRecord): string | undefined => labelOf(record, SHARDS_LABEL);

import { z } from "zod";
import { apiVersionOf, LEASES, microTime, type KubeObject } from "../resource.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Label of the Leases of shards and replicas: its value is what the Lease stands for. */
export const LEASE_LABEL = "vaultsync.dev/lease";

/** `spec` of a Lease, parsed leniently: any client may have written it. */
const Spec = z.object({
  holderIdentity: z.string().catch(""),
  leaseDurationSeconds: z.number().int().positive().max(3_600).catch(1),
  acquireTime: z.string().optional().catch(undefined),
  leaseTransitions: z.number().int().nonnegative().catch(0),
});

/** The holder of a Lease, as read from the API server. */
export interface LeaseRecord {
  /** Empty without a holder. */
  readonly holder: string;
  /** Time after a renewal during which other candidates wait, in milliseconds. */
  readonly durationMs: number;
  readonly acquireTime: string | undefined;
  readonly transitions: number;
  readonly object: KubeObject;
}

/** Parses a Lease. Never throws: a malformed Lease has no holder. */
export function readLease(object: KubeObject): LeaseRecord {
  const spec = Spec.safeParse(object["spec"] ?? {});
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = spec.success
    ? spec.data
    : Spec.parse({});
  return {
    holder: holderIdentity,
    durationMs: leaseDurationSeconds * 1_000,
    acquireTime,
    transitions: leaseTransitions,
    object,
  };
}

/** Parses a Lease that was read before: a renewal changes nothing of the record but its object. */
export function readAgain(known: LeaseRecord, object: KubeObject): LeaseRecord {
  const [before, now] = [known.object["spec"], object["spec"]];
  const isRenewed =
    isFields(before) && isFields(now) && FIELDS.every((field) => before[field] === now[field]);
  return isRenewed ? { ...known, object } : readLease(object);
}

const FIELDS = Object.keys(Spec.shape);
const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Returns the Lease to write when `holder` takes or renews it. `now` is wall-clock time and
 * informational: expiry is never derived from it.
 */
export function heldLease(
  before: LeaseRecord | undefined,
  name: LeaseName,
  holder: string,
  durationMs: number,
  now: number,
): KubeObject {
  const renewed = before?.holder === holder;
  const time = microTime(now);
  const transitions = before?.transitions ?? 0;
  return write(before, name, {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1_000),
    acquireTime: renewed ? (before.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: before && !renewed ? transitions + 1 : transitions,
  });
}

/** Returns the Lease to write when its holder releases it: free immediately. */
export function releasedLease(before: LeaseRecord, name: LeaseName, now: number): KubeObject {
  const { transitions } = before;
  return write(before, name, {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    renewTime: microTime(now),
    leaseTransitions: transitions,
  });
}

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
  /** Labels that a holder sets, in addition to those that the Lease has. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

function write(
  before: LeaseRecord | undefined,
  { namespace, name, labels }: LeaseName,
  spec: object,
): KubeObject {
  const metadata = before?.object.metadata ?? { namespace, name };
  const labeled =
    labels === undefined ? metadata : { ...metadata, labels: { ...metadata.labels, ...labels } };
  return { apiVersion: apiVersionOf(LEASES), kind: LEASES.kind, metadata: labeled, spec };
}

/**
 * Judges when the holder of a Lease has lost it: not from the times written in it, because clocks
 * differ.
 */
export class LeaseObserver {
  readonly #clock: Clock;
  /** The last observed state of the Lease and the monotonic time of its first observation. */
  #observed: { readonly resourceVersion: string | undefined; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the time in ms since the last observed renewal, 0 at the first observation. */
  idleMs({ object: { metadata } }: LeaseRecord): number {
    const now = this.#clock.monotonic();
    if (
      this.#observed === undefined ||
      this.#observed.resourceVersion !== metadata.resourceVersion
    ) {
      this.#observed = { resourceVersion: metadata.resourceVersion, at: now };
    }
    return now - this.#observed.at;
  }

  /**
   * Reports whether another process may take the Lease: it has no holder, or one that did not renew
   * it for its duration.
   */
  isFree(record: LeaseRecord): boolean {
    return record.holder === "" || this.idleMs(record) >= record.durationMs;
  }
}

import { z } from "zod";
import { microTime } from "./micro-time.ts";
import { apiVersionOf, LEASES, type KubeObject } from "../resource.ts";

/** `spec` of a Lease, as tolerant as a value that anybody may have written asks for. */
const Spec = z.object({
  holderIdentity: z.string().catch(""),
  leaseDurationSeconds: z.number().int().positive().max(3_600).catch(1),
  acquireTime: z.string().optional().catch(undefined),
  leaseTransitions: z.number().int().nonnegative().catch(0),
});

/** Who holds a Lease, as read from the API server. */
export interface LeaseRecord {
  /** Empty when nobody does. */
  readonly holder: string;
  /** How long after a renewal others have to wait, in milliseconds. */
  readonly durationMs: number;
  readonly acquireTime: string | undefined;
  readonly transitions: number;
  readonly object: KubeObject;
}

/** Never throws: a Lease that cannot be read is nobody's. */
export function readLease(object: KubeObject): LeaseRecord {
  const spec = Spec.safeParse(object["spec"] ?? {});
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = spec.success ? spec.data : Spec.parse({});
  return {
    holder: holderIdentity,
    durationMs: leaseDurationSeconds * 1_000,
    acquireTime,
    transitions: leaseTransitions,
    object,
  };
}

/** The Lease as `holder` takes or renews it. `now` is wall-clock, for people to read: nobody judges by it. */
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

/** The Lease as its holder gives it back: free at once. */
export function freedLease(before: LeaseRecord, name: LeaseName, now: number): KubeObject {
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
}

function write(before: LeaseRecord | undefined, { namespace, name }: LeaseName, spec: object): KubeObject {
  return { apiVersion: apiVersionOf(LEASES), kind: LEASES.kind, metadata: before?.object.metadata ?? { namespace, name }, spec };
}

import { Deadline } from "../../lib/deadline.ts";
import { ifFound } from "../kube-error.ts";
import { LEASES } from "../resource.ts";
import { instantOf, LEASE_TIMING, type LeaseOptions } from "./lease-options.ts";
import { heldLease, type LeaseRecord, readLease } from "./lease-record.ts";
import { Leadership } from "./leadership.ts";

/**
 * Takes a free Lease. @param found its current state, or `undefined` if it is missing
 *
 * @param signal ends the attempt. A write in flight is not cut, since it may have taken the Lease,
 *   but has only `retryMs` left; a Lease that it took is released.
 * @throws KubeError, `Conflict` or `AlreadyExists` when another process was faster
 */
export async function takeLease(
  options: LeaseOptions,
  found: LeaseRecord | undefined,
  signal: AbortSignal,
): Promise<Leadership> {
  const { api, identity, clock, logger, name, timing = LEASE_TIMING } = options;
  signal.throwIfAborted();
  using deadline = new Deadline(clock, timing.renewDeadlineMs, new AbortController().signal);
  const hurry = (): void => deadline.restart(timing.retryMs);
  signal.addEventListener("abort", hurry, { once: true });
  using stack = new DisposableStack();
  stack.defer(() => signal.removeEventListener("abort", hurry));
  const sentAt = instantOf(clock);
  const object = heldLease(found, options, identity, timing.durationMs, clock.now());
  const written = await (found
    ? api.replace(LEASES, object, deadline.signal)
    : api.create(LEASES, object, deadline.signal));
  logger.info({ lease: name, identity }, "acquired lease");
  const leadership = new Leadership({ ...options, timing }, readLease(written), sentAt);
  if (signal.aborted) await leadership.release();
  signal.throwIfAborted();
  return leadership;
}

/** Reads a Lease; `undefined` if there is none. */
export async function findLease(
  { api, namespace, name }: LeaseOptions,
  signal: AbortSignal,
): Promise<LeaseRecord | undefined> {
  const lease = await ifFound(api.get(LEASES, { namespace, name }, signal));
  return lease && readLease(lease);
}

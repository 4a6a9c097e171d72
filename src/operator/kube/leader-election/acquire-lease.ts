import { Deadline } from "../../lib/deadline.ts";
import { jitter } from "../../../lib/random.ts";
import { LEASE_TIMING, type LeaseOptions, instantOf, Leadership } from "./leadership.ts";
import { isKubeError, KubeError, ifFound } from "../kube-error.ts";
import { LEASES } from "../resource.ts";
import { heldLease, type LeaseRecord, readLease, LeaseObserver } from "./lease-record.ts";

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

/**
 * Reports why a Lease cannot be taken; `request` identifies the attempts. A lost race is no
 * failure: another process has the Lease.
 */
export function reportLeaseFailure(
  request: object,
  { problems, namespace, name }: Pick<LeaseOptions, "problems" | "namespace" | "name">,
  error: unknown,
): void {
  if (isKubeError(error, "Conflict", "AlreadyExists")) return;
  const operation = `get leases ${namespace}/${name}`;
  const failure = isKubeError(error)
    ? error
    : new KubeError({ kind: "Timeout", operation, reason: "Deadline" });
  problems?.failed(request, { resource: "leases", ownNamespace: namespace }, failure);
}

/**
 * Waits until this process holds the Lease. A holder has lost it when no renewal was observed for
 * the Lease's duration, counted on the monotonic clock of this process from the first observation
 * of the last renewal. The times written in the Lease are never compared with local time, because
 * clocks differ.
 *
 * No error of the API server ends the wait; it rejects only with the signal's reason. The caller
 * has to watch `Leadership.lost`.
 */
export async function acquireLease(
  options: LeaseOptions,
  signal: AbortSignal,
): Promise<Leadership> {
  const { clock, random, identity, timing = LEASE_TIMING } = options;
  const observer = new LeaseObserver(clock);
  using stack = new DisposableStack();
  stack.defer(() => options.problems?.recovered(observer));
  for (;;) {
    try {
      using deadline = new Deadline(clock, timing.renewDeadlineMs, signal);
      const found = await findLease(options, deadline.signal);
      const mayTake = found === undefined || found.holder === identity || observer.isFree(found);
      if (mayTake) return await takeLease(options, found, signal);
      options.problems?.recovered(observer);
    } catch (error) {
      signal.throwIfAborted();
      reportLeaseFailure(observer, options, error);
    }
    await clock
      .sleep(jitter(random, timing.retryMs * 0.75, 0.25), signal)
      .catch(() => signal.throwIfAborted());
  }
}

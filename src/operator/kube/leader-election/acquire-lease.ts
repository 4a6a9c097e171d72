import { Deadline } from "../../lib/deadline.ts";
import { jitter } from "../../../lib/random.ts";
import { LEASE_TIMING, type LeaseOptions } from "./lease-options.ts";
import { LeaseObserver } from "./lease-observer.ts";
import type { Leadership } from "./leadership.ts";
import { reportLeaseFailure } from "./report-lease-failure.ts";
import { findLease, takeLease } from "./take-lease.ts";

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

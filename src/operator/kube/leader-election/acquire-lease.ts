import { jitter } from "../../../lib/random.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { isKubeError } from "../kube-error.ts";
import { LEASE_TIMING, type LeaseOptions, type LeaseTiming } from "./lease-options.ts";
import { heldLease, readLease, type LeaseRecord } from "./lease-record.ts";
import { Leadership } from "./leadership.ts";
import { LEASES } from "../resource.ts";

/**
 * Waits until this process holds the Lease. A holder has lost it when no renewal was observed for the Lease's duration, counted
 * on the monotonic clock of this process from the first observation of the last renewal. The times written in the Lease are never
 * compared with local time, because clocks differ.
 *
 * No error of the API server ends the wait; it rejects only with the signal's reason. The caller has to watch `Leadership.lost`.
 */
export async function acquireLease(options: LeaseOptions, signal: AbortSignal): Promise<Leadership> {
  const { clock, random, logger, timing = LEASE_TIMING } = options;
  const candidate = new Candidate(options, timing);
  for (;;) {
    try {
      const acquired = await candidate.tryAcquire(signal);
      if (acquired) {
        logger.info({ lease: options.name, identity: options.identity }, "became leader");
        return new Leadership({ ...options, timing }, acquired.record, acquired.sentAt);
      }
    } catch (error) {
      signal.throwIfAborted();
      // A lost race is not worth a log line: another candidate became leader.
      if (isKubeError(error, "NotFound")) {
        const { namespace } = options;
        logger.error(
          { lease: options.name, namespace },
          `the lease's namespace does not exist; create it with "kubectl create namespace ${namespace}"`,
        );
      } else if (!isKubeError(error, "Conflict", "AlreadyExists")) {
        logger.warn({ lease: options.name, reason: isKubeError(error) ? error.message : "Timeout" }, "failed to acquire lease");
      }
    }
    await clock.sleep(jitter(random, timing.retryMs * 0.75, 0.25), signal).catch(() => signal.throwIfAborted());
  }
}

class Candidate {
  readonly #options: LeaseOptions;
  readonly #timing: LeaseTiming;
  /** The last observed state of the Lease and the monotonic time of its first observation. */
  #observed: { readonly resourceVersion: string | undefined; readonly at: number } | undefined;

  constructor(options: LeaseOptions, timing: LeaseTiming) {
    this.#options = options;
    this.#timing = timing;
  }

  /**
   * Tries once to take the Lease. Returns it and the monotonic time at which the request was sent, or `undefined` if another
   * process holds it.
   */
  async tryAcquire(signal: AbortSignal): Promise<{ record: LeaseRecord; sentAt: number } | undefined> {
    const { api, namespace, name, identity, clock } = this.#options;
    const { durationMs, renewDeadlineMs } = this.#timing;
    using deadline = new Deadline(clock, renewDeadlineMs, signal);
    const found = await this.#read(deadline.signal);
    if (found && found.holder !== identity && !this.#expired(found)) return undefined;
    const sentAt = clock.monotonic();
    const object = heldLease(found, { namespace, name }, identity, durationMs, clock.now());
    const written = await (found ? api.replace(LEASES, object, deadline.signal) : api.create(LEASES, object, deadline.signal));
    return { record: readLease(written), sentAt };
  }

  async #read(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const { api, namespace, name } = this.#options;
    try {
      return readLease(await api.get(LEASES, { namespace, name }, signal));
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #expired(record: LeaseRecord): boolean {
    if (record.holder === "") return true;
    const { resourceVersion } = record.object.metadata;
    const now = this.#options.clock.monotonic();
    if (this.#observed?.resourceVersion !== resourceVersion || !this.#observed) {
      this.#observed = { resourceVersion, at: now };
      return false;
    }
    return now - this.#observed.at >= record.durationMs;
  }
}

import { jitter } from "../../../lib/random.ts";
import { Deadline } from "../../../lib/deadline.ts";
import { isKubeError } from "../kube-error.ts";
import { LEASE_TIMING, type LeaseOptions, type LeaseTiming } from "./lease-options.ts";
import { heldLease, readLease, type LeaseRecord } from "./lease-record.ts";
import { Leadership } from "./leadership.ts";
import { LEASES } from "../resource.ts";

/**
 * Waits until the Lease is ours. A holder has lost it when we have not seen it renewed for its own duration, counted on our clock from
 * when we first saw its last renewal; the times written in it are never compared with ours (design: kube-facts).
 *
 * No error of the API server ends the waiting; it rejects only with the signal's reason. Who has it must watch `Leadership.lost`.
 */
export async function acquireLease(options: LeaseOptions, signal: AbortSignal): Promise<Leadership> {
  const { clock, random, logger, timing = LEASE_TIMING } = options;
  const candidate = new Candidate(options, timing);
  for (;;) {
    try {
      const won = await candidate.tryOnce(signal);
      if (won) {
        logger.info({ lease: options.name, identity: options.identity }, "became leader");
        return new Leadership({ ...options, timing }, won.record, won.since);
      }
    } catch (error) {
      signal.throwIfAborted();
      // A lost race is the usual way to learn that another one leads.
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
  /** The last state of the Lease, and when we first saw it. */
  #seen: { readonly resourceVersion: string | undefined; readonly at: number } | undefined;

  constructor(options: LeaseOptions, timing: LeaseTiming) {
    this.#options = options;
    this.#timing = timing;
  }

  /** @returns the Lease and the moment its holding counts from, when it is ours now */
  async tryOnce(signal: AbortSignal): Promise<{ record: LeaseRecord; since: number } | undefined> {
    const { api, namespace, name, identity, clock } = this.#options;
    const { durationMs, renewDeadlineMs } = this.#timing;
    using deadline = new Deadline(clock, renewDeadlineMs, signal);
    const found = await this.#read(deadline.signal);
    if (found && found.holder !== identity && !this.#expired(found)) return undefined;
    const since = clock.monotonic();
    const object = heldLease(found, { namespace, name }, identity, durationMs, clock.now());
    const written = await (found ? api.replace(LEASES, object, deadline.signal) : api.create(LEASES, object, deadline.signal));
    return { record: readLease(written), since };
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
    if (this.#seen?.resourceVersion !== resourceVersion || !this.#seen) {
      this.#seen = { resourceVersion, at: now };
      return false;
    }
    return now - this.#seen.at >= record.durationMs;
  }
}

import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { KubeApi } from "../client/kube-api.ts";

export interface LeaseOptions {
  /** On connections of its own, so that nothing queues before a renewal. Without a fence. */
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process, not only to this pod's name: a restarted process is another holder. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timing?: LeaseTiming;
}

export interface LeaseTiming {
  /** How long others wait after a renewal they saw. */
  readonly durationMs: number;
  /** How long after its last renewal the holder may still write. Shorter than the duration by more than a write takes. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** controller-runtime's: 15 s, 10 s, 2 s. */
export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { KubeApi } from "../client/kube-api.ts";

export interface LeaseOptions {
  /** A client with a connection of its own, so that no other request delays a renewal. Without a fence. */
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Unique to this process and not only to the pod: a restarted process is another holder. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly timing?: LeaseTiming;
}

export interface LeaseTiming {
  /** Time that other candidates wait after an observed renewal, in milliseconds. */
  readonly durationMs: number;
  /** Time after its last renewal during which the holder may write. Shorter than the duration by more than a write takes. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** The defaults of controller-runtime: 15 s, 10 s, 2 s. */
export const LEASE_TIMING: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

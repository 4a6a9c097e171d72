import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { KubeApi } from "../client/kube-api.ts";
import type { RequestProblems } from "../request-problems.ts";

export interface LeaseOptions {
  /** A client with a separate connection and without a fence: no other request delays a renewal. */
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Unique to this process and not only to the pod: a restarted process is another holder. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Receives why the Lease cannot be taken. */
  readonly problems?: RequestProblems | undefined;
  readonly timing?: LeaseTiming;
}

export interface LeaseTiming {
  /** Time that other candidates wait after an observed renewal, in milliseconds. */
  readonly durationMs: number;
  /**
   * Time after its last renewal during which the holder may send a write. Half of the rest is for
   * the write to end.
   */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

/** The defaults of controller-runtime: 15 s, 10 s, 2 s. */
export const LEASE_TIMING: LeaseTiming = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
};

/**
 * A time on both clocks: the monotonic one does not advance while a machine is suspended, and the
 * wall clock may be set back.
 */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

/** Returns the current time on both clocks. */
export function instantOf(clock: Clock): Instant {
  return { monotonic: clock.monotonic(), wall: clock.now() };
}

/** Returns the time in milliseconds since `start`: the longer one of both clocks. */
export function elapsedSince(start: Instant, clock: Clock): number {
  return Math.max(clock.monotonic() - start.monotonic, clock.now() - start.wall);
}

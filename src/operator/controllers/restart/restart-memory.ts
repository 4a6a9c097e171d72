/**
 * Facts about one workload that are kept between two reconciles. The cluster has everything that
 * must survive this process.
 */
export interface RestartMemory {
  readonly uid: string;
  pendingSince?: number | undefined;
  /** Content of the last restart by this process. */
  restartedFor?: string;
  /** Time at which the rollout was last seen paused, in milliseconds since the epoch. */
  pausedAt?: number;
  /** The rollout was paused when it was last read. */
  paused?: boolean;
  /** The restart waits for the rollouts of other workloads. */
  queued?: boolean;
  /** Monotonic time of the last read during a rollout. */
  observedAt?: number;
  /** Text of the last record without a restart, and its monotonic time. */
  recorded?: { readonly text: string; readonly at: number };
  /** Message of a restart that the API server rejected, until one succeeds. */
  failure?: string | undefined;
  /** Message about a rollout in progress. */
  progress?: string | undefined;
}

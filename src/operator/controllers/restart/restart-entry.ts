import type { RestartStatus } from "../../api/status.ts";
import { defined } from "../../lib/defined.ts";
import type { Restart } from "../../restart/restart-state.ts";
import { MAX_ROLLING } from "./restart-pace.ts";

/**
 * Facts about one workload that are kept between two reconciles. The cluster has everything that
 * must survive this process.
 */
export interface RestartMemory {
  readonly uid: string;
  pendingSince?: number | undefined;
  /** Content of the last restart by this process, until another one is recorded. */
  restartedFor?: string | undefined;
  /** Time at which the rollout was last seen paused, in milliseconds since the epoch. */
  pausedAt?: number;
  /** The rollout was paused when it was last read. */
  paused?: boolean;
  /** The restart waits for the rollouts of other workloads. */
  queued?: boolean;
  /** Monotonic time of the last read during a rollout. */
  readAt?: number;
  /** Text of the last record without a restart, and its monotonic time. */
  recorded?: { readonly text: string; readonly at: number };
  /** Message of a restart that the API server rejected, until one succeeds. */
  failure?: string | undefined;
  /** Message about a rollout in progress. */
  progress?: string | undefined;
}

/** Entry of a workload in the status of a resource, without its name. */
export type Entry = Omit<RestartStatus, "kind" | "name">;

const QUEUED = `waits: ${MAX_ROLLING} workloads of the namespace roll out, and it is restarted when one of them has ended`;

/**
 * Returns what is to be shown about the last restart; nothing if there was none, and none failed or
 * waits.
 */
export function restartEntry(
  restart: Restart | undefined,
  { failure, progress, queued }: Pick<RestartMemory, "failure" | "progress" | "queued">,
): Entry | undefined {
  const time = restart && new Date(restart.at).toISOString();
  if (failure !== undefined) return { result: "Failed", ...defined({ time, message: failure }) };
  if (queued === true) return { result: "Progressing", ...defined({ time, message: QUEUED }) };
  if (restart === undefined) return undefined;
  const { result = "Progressing", message = result === "Progressing" ? progress : undefined } =
    restart;
  return { result, ...defined({ time, message }) };
}

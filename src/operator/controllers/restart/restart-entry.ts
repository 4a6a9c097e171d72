import type { RestartStatus } from "../../api/status.ts";
import { defined } from "../../lib/defined.ts";
import type { Restart } from "../../restart/restart-state.ts";
import type { RestartMemory } from "./restart-memory.ts";
import { MAX_ROLLING } from "./restart-pace.ts";

/** Entry of a workload in the status of a resource, without its name. */
export type Entry = Omit<RestartStatus, "kind" | "name">;

const QUEUED = `waits: ${MAX_ROLLING} workloads of the namespace roll out, and it is restarted when one of them has ended`;

/**
 * Returns what is to be shown about the last restart; nothing if there was none, and none failed or
 * waits.
 */
export function restartEntry(
  restart: Restart | undefined,
  {
    failure,
    progress,
    queued,
    opensAt,
  }: Pick<RestartMemory, "failure" | "progress" | "queued" | "opensAt">,
): Entry | undefined {
  const time = restart && new Date(restart.at).toISOString();
  if (failure !== undefined) return { result: "Failed", ...defined({ time, message: failure }) };
  if (queued === true) return { result: "Progressing", ...defined({ time, message: QUEUED }) };
  if (opensAt !== undefined) {
    const message = `waits: its next window opens at ${new Date(opensAt).toISOString()}`;
    return { result: "Progressing", ...defined({ time, message }) };
  }
  if (restart === undefined) return undefined;
  const { result = "Progressing", message = result === "Progressing" ? progress : undefined } =
    restart;
  return { result, ...defined({ time, message }) };
}

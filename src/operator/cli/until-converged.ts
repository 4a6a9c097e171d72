import { systemClock } from "../../lib/clock.ts";
import { findCondition } from "../api/conditions.ts";
import type { Cluster } from "./cluster.ts";
import { readResource, statusOf } from "./read-resource.ts";
import { idOf, type ResourceName } from "./resource-name.ts";

/** Time between two reads of a resource whose pods are replaced, in milliseconds. */
const POLL_MS = 1_000;
/** Time in milliseconds after a change within which the condition appears, if pods use the target. */
const APPEARS_MS = 20_000;

/**
 * Waits until every pod that uses the target of a resource runs its content. Without the condition
 * no pod uses it, or the operator does not see workloads.
 * @throws Error that names the workloads
 */
export async function untilConverged(
  cluster: Cluster,
  name: ResourceName,
  timeout: number,
  signal: AbortSignal,
): Promise<void> {
  const started = systemClock.monotonic();
  for (;;) {
    const object = await readResource(cluster, name, signal);
    const converged = findCondition(statusOf(object).conditions, "Converged");
    const waitedMs = systemClock.monotonic() - started;
    if (converged?.status === "True") return;
    if (converged === undefined && waitedMs > APPEARS_MS) {
      process.stderr.write(`${idOf(name)} has no condition Converged\n`);
      return;
    }
    if (waitedMs > timeout * 1_000)
      throw new Error(
        `${idOf(name)} was not Converged within ${timeout} s: ${converged?.message ?? "it has no condition"}`,
      );
    await systemClock.sleep(POLL_MS, signal);
  }
}

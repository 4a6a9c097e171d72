import type { ConditionNow } from "../api/conditions.ts";
import type { PodUse, RunningPod } from "./running-pod.ts";
import { firstOf } from "../lib/first-of.ts";

/** The last change of a target, and what is known of the time since. */
interface Change {
  /** `<kind>/<name>` of the target. */
  readonly target: string;
  /** Former targets of the resource: whatever reads one has older content. */
  readonly formerTargets: readonly string[];
  /** Time of the change on the clock of the API server, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** The change created the target: no kubelet had older content of it to give to a container. */
  readonly isCreation: boolean;
  /** The change was seen so long ago that every kubelet has renewed its volumes. */
  readonly isMounted: boolean;
  /** The kubelet does not renew the volumes of pods that run: the target is immutable. */
  readonly isImmutable: boolean;
  /** Time in milliseconds within which a kubelet renews a volume. */
  readonly syncPeriodMs: number;
}

/** A change, and the {@link nodesWithFormer} content of its target. */
export interface TargetChange extends Change {
  readonly formerNodes: ReadonlySet<string>;
}

/** The workloads that may still run older content. */
export interface Convergence {
  /** Number of pods that use the target, with older content or not. */
  readonly users: number;
  /** Those that a rollout replaces, or that follow by themselves; sorted. */
  readonly following: readonly string[];
  /** Those whose pods have to be replaced, and that nothing restarts; sorted. */
  readonly notRestarted: readonly string[];
}

/**
 * Precision of timestamps of the API server, in milliseconds: an object is written up to this time
 * after the one that it shows.
 */
const PRECISION_MS = 1_000;

/** The missing part: nothing; time, or the end of a pod; another restart. */
type Lag = "none" | "follows" | "restart";

/** Returns what has to happen until a pod that started before the change has its content. */
function lagOf(
  { isReady, isTerminating }: RunningPod,
  { by, startedAt, isRestarted }: PodUse,
  { changedAt, isCreation, isMounted, isImmutable, syncPeriodMs }: Change,
): Lag {
  // A kubelet may cache what it gives to a container of a pod that it knows. It keeps an immutable
  // object as long as a pod of the node uses it.
  const isStartedLater = (cachedMs: number): boolean =>
    !(isImmutable && isRestarted) && startedAt >= changedAt + PRECISION_MS + cachedMs;
  // The pod may run without its node: such a kubelet renews nothing, and the pod is not ready. Nor
  // does a kubelet renew the files of a pod that terminates.
  const isRenewed = isMounted && isReady && !isTerminating;
  switch (by) {
    case "start":
      return isStartedLater(isCreation ? 0 : syncPeriodMs) ? "none" : "restart";
    case "mount":
      return !isImmutable && isStartedLater(syncPeriodMs) ? "none" : "restart";
    case "volume":
      return isImmutable ? "restart" : isRenewed ? "none" : "follows";
    case "pull":
      return isMounted ? "none" : "follows";
  }
}

const isCreatedAfter = (pod: RunningPod, { changedAt }: Change): boolean =>
  pod.createdAt >= changedAt + PRECISION_MS;

/** Reports whether no container of a pod that uses the target has started. */
const isWaiting = (uses: readonly PodUse[]): boolean =>
  uses.every(({ by, startedAt }) => by === "start" && startedAt === -Infinity);

/**
 * Returns the nodes whose kubelet gives new pods the former content of an immutable target: it knows
 * that until no pod of the node uses the target.
 *
 * @param before those that were found before
 */
export function nodesWithFormer(
  pods: readonly RunningPod[],
  change: Change,
  before: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const nodes = new Set<string>();
  for (const pod of change.isImmutable ? pods : []) {
    const uses = pod.uses.get(change.target);
    if (uses === undefined || pod.node === undefined) continue;
    const isFirst = change.isCreation && isWaiting(uses);
    const isFormer =
      !isCreatedAfter(pod, change) &&
      !isFirst &&
      uses.some((use) => lagOf(pod, use, change) !== "none");
    if (before.has(pod.node) || isFormer) nodes.add(pod.node);
  }
  return nodes;
}

/**
 * Returns what a pod lacks. One whose node has the former content gets that; any other one that was
 * created after the change has started with its content.
 */
function lagOfPod(pod: RunningPod, change: TargetChange): Lag {
  const restart = pod.isTerminating ? "follows" : "restart";
  if (change.formerTargets.some((former) => pod.uses.has(former))) return restart;
  if (pod.node !== undefined && change.formerNodes.has(pod.node)) return restart;
  if (isCreatedAfter(pod, change)) return "none";
  const lags = (pod.uses.get(change.target) ?? []).map((use) => lagOf(pod, use, change));
  if (lags.includes("restart")) return restart;
  return lags.includes("follows") ? "follows" : "none";
}

const isUser = ({ uses }: RunningPod, { target, formerTargets }: TargetChange): boolean =>
  uses.has(target) || formerTargets.some((former) => uses.has(former));

/**
 * Decides which workloads still run the content from before the last change of a target. What is
 * not known counts as older content.
 *
 * @param isRestarted reports whether the operator restarts a workload for the target
 */
export function decideConvergence(
  pods: readonly RunningPod[],
  change: TargetChange,
  isRestarted: (workload: string) => boolean,
): Convergence {
  const users = pods.filter((pod) => isUser(pod, change));
  const lags = users.map((pod) => ({ workload: pod.workload, lag: lagOfPod(pod, change) }));
  const lagging = (isWanted: (lag: Lag, workload: string) => boolean): string[] =>
    [
      ...new Set(
        lags.filter(({ lag, workload }) => isWanted(lag, workload)).map(({ workload }) => workload),
      ),
    ].sort();
  // A Job is replaced when it ends.
  const replaces = (workload: string): boolean =>
    workload.startsWith("Job/") || isRestarted(workload);
  const notRestarted = lagging((lag, workload) => lag === "restart" && !replaces(workload));
  const following = lagging((lag) => lag !== "none").filter((one) => !notRestarted.includes(one));
  return { users: users.length, following, notRestarted };
}

const MAX_NAMED = 10;

function named(workloads: readonly string[]): string {
  return firstOf(workloads, { max: MAX_NAMED, text: (one) => one.replace("/", " ") });
}

/** Reports whether no workload may run older content. */
export const isConverged = ({ following, notRestarted }: Convergence): boolean =>
  following.length === 0 && notRestarted.length === 0;

/** Returns the condition Converged. */
export function convergedCondition(found: Convergence): ConditionNow {
  const { following, notRestarted } = found;
  if (isConverged(found))
    return {
      type: "Converged",
      status: "True",
      reason: "Converged",
      message: "every pod that uses the target runs its content",
    };
  const parts = [
    ...(notRestarted.length === 0 ? [] : [`nothing restarts ${named(notRestarted)}`]),
    ...(following.length === 0 ? [] : [`waiting for ${named(following)}`]),
  ];
  return {
    type: "Converged",
    status: "False",
    reason: notRestarted.length === 0 ? "RollingOut" : "NotRestarted",
    message: `older content may still run: ${parts.join("; ")}`,
  };
}

import { z } from "zod";
import type { WorkloadKind } from "../api/rollout-restart.ts";

/** Progress of the rollout of the current pod template of a workload. */
export type RolloutProgress =
  | { readonly result: "RolledOut" }
  | { readonly result: "Failed"; readonly message: string }
  /** `paused`: it waits for a user, and no deadline applies. */
  | { readonly result: "Progressing"; readonly paused: boolean; readonly message?: string };

const count = z.number().catch(0);
const text = z.string().optional().catch(undefined);
const flag = z.boolean().catch(false);

const object = z.object({
  metadata: z.object({ generation: count }).catch({ generation: 0 }),
  spec: z
    .object({
      replicas: z.number().catch(1),
      paused: flag,
      updateStrategy: z
        .object({
          type: text,
          rollingUpdate: z.object({ partition: count }).catch({ partition: 0 }),
        })
        .catch({ type: undefined, rollingUpdate: { partition: 0 } }),
    })
    .catch({
      replicas: 1,
      paused: false,
      updateStrategy: { type: undefined, rollingUpdate: { partition: 0 } },
    }),
  status: z
    .object({
      // A Rollout has a string.
      observedGeneration: z.coerce.number().catch(0),
      replicas: count,
      updatedReplicas: count,
      readyReplicas: count,
      availableReplicas: count,
      currentRevision: text,
      updateRevision: text,
      updatedNumberScheduled: count,
      desiredNumberScheduled: count,
      numberAvailable: count,
      phase: text,
      message: text,
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), reason: text }))
        .catch([]),
    })
    .optional()
    .catch(undefined),
});
type Workload = z.output<typeof object>;
type Status = NonNullable<Workload["status"]>;

const ROLLED_OUT: RolloutProgress = { result: "RolledOut" };
const PROGRESSING: RolloutProgress = { result: "Progressing", paused: false };
const isOnDelete = ({ updateStrategy }: Workload["spec"]): boolean =>
  updateStrategy.type === "OnDelete";
const until = (isDone: boolean): RolloutProgress => (isDone ? ROLLED_OUT : PROGRESSING);

function deploymentProgress({ spec }: Workload, status: Status): RolloutProgress {
  const progressing = status.conditions.find(({ type }) => type === "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded")
    return { result: "Failed", message: "the Deployment exceeded its progressDeadlineSeconds" };
  const { updatedReplicas, replicas, availableReplicas } = status;
  return until(
    updatedReplicas >= spec.replicas &&
      replicas <= updatedReplicas &&
      availableReplicas >= updatedReplicas,
  );
}

function statefulSetProgress({ spec }: Workload, status: Status): RolloutProgress {
  const isReady = status.readyReplicas >= spec.replicas;
  // Its current revision never changes.
  if (isOnDelete(spec)) return until(isReady && status.updatedReplicas >= spec.replicas);
  const { partition } = spec.updateStrategy.rollingUpdate;
  // The pods below the partition keep the old template.
  if (partition > 0) return until(isReady && status.updatedReplicas >= spec.replicas - partition);
  return until(isReady && status.updateRevision === status.currentRevision);
}

function daemonSetProgress(_: Workload, status: Status): RolloutProgress {
  const { updatedNumberScheduled, desiredNumberScheduled, numberAvailable } = status;
  return until(
    updatedNumberScheduled >= desiredNumberScheduled && numberAvailable >= desiredNumberScheduled,
  );
}

function argoRolloutProgress(_: Workload, { phase, message }: Status): RolloutProgress {
  if (phase === "Healthy") return ROLLED_OUT;
  if (phase === "Degraded")
    return { result: "Failed", message: `the Rollout is Degraded: ${message ?? "see its status"}` };
  return phase === "Paused"
    ? { result: "Progressing", paused: true, message: "the Rollout is paused" }
    : PROGRESSING;
}

const progressOf: Readonly<
  Record<WorkloadKind, (workload: Workload, status: Status) => RolloutProgress>
> = {
  Deployment: deploymentProgress,
  StatefulSet: statefulSetProgress,
  DaemonSet: daemonSetProgress,
  Rollout: argoRolloutProgress,
};

/**
 * Returns the progress of a workload as the API server returned it, by the rules of `kubectl
 * rollout status`. Total.
 */
export function rolloutProgress(kind: WorkloadKind, workload: unknown): RolloutProgress {
  const parsed = object.safeParse(workload).data;
  if (parsed === undefined) return PROGRESSING;
  const { metadata, spec, status } = parsed;
  if (spec.paused)
    return {
      result: "Progressing",
      paused: true,
      message: `the ${kind} is paused: it rolls out when it is resumed`,
    };
  const progress =
    status === undefined || status.observedGeneration < metadata.generation
      ? PROGRESSING
      : progressOf[kind](parsed, status);
  if (progress.result !== "Progressing" || !isOnDelete(spec)) return progress;
  const message = `the ${kind} has the update strategy OnDelete: delete its pods`;
  return { result: "Progressing", paused: true, message };
}

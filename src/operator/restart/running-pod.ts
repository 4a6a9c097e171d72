import { z } from "zod";
import {
  containersOf,
  environmentOf,
  podSpec,
  type PodSpec,
  pullSecretsOf,
  subPathsOf,
  volumesOf,
} from "./pod-references.ts";

/** A use of the content of a Secret or ConfigMap by a pod. */
export interface PodUse {
  /**
   * `start`: a container got the content when it started. `mount`: by `subPath`, a container has
   * the files that the volume had at its start. `volume`: the kubelet renews the files. `pull`: the
   * kubelet reads it for each image.
   */
  readonly by: "start" | "mount" | "volume" | "pull";
  /**
   * Earliest time, on the clock of the API server, at which the container started; in milliseconds
   * since the epoch. `-Infinity` if it is unknown, or has not started yet.
   */
  readonly startedAt: number;
  /** The container had started before that. */
  readonly isRestarted: boolean;
}

/** A pod that runs, or may run. */
export interface RunningPod {
  /** `<kind>/<name>` of what a user restarts: a workload, a Job, or the pod itself. */
  readonly workload: string;
  /** Name of its node; `undefined` until it is scheduled. */
  readonly node: string | undefined;
  /** Time of its creation by the clock of the API server, in milliseconds since the epoch. */
  readonly createdAt: number;
  readonly isReady: boolean;
  /** It runs until it is gone, and is not replaced by another restart. */
  readonly isTerminating: boolean;
  /** By `<kind>/<name>` of the Secret or ConfigMap. */
  readonly uses: ReadonlyMap<string, readonly PodUse[]>;
}

const time = z
  .string()
  .transform((text) => Date.parse(text))
  .refine((ms) => !Number.isNaN(ms))
  .optional()
  .catch(undefined);

const startedState = z.object({ startedAt: time }).optional().catch(undefined);
const containerStatuses = z
  .array(
    z.object({
      name: z.string().catch(""),
      restartCount: z.number().catch(0),
      state: z.object({ running: startedState, terminated: startedState }).catch({}),
    }),
  )
  .catch([]);

const pod = z.object({
  metadata: z.object({
    name: z.string(),
    creationTimestamp: time,
    deletionTimestamp: z.string().optional().catch(undefined),
    labels: z.record(z.string(), z.string()).catch({}),
    ownerReferences: z
      .array(z.object({ kind: z.string(), name: z.string(), controller: z.boolean().catch(false) }))
      .catch([]),
  }),
  spec: podSpec.extend({ nodeName: z.string().optional().catch(undefined) }),
  status: z
    .object({
      phase: z.string().catch(""),
      startTime: time,
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).catch([]),
      containerStatuses,
      initContainerStatuses: containerStatuses,
      ephemeralContainerStatuses: containerStatuses,
    })
    .catch({
      phase: "",
      startTime: undefined,
      conditions: [],
      containerStatuses: [],
      initContainerStatuses: [],
      ephemeralContainerStatuses: [],
    }),
});
type Pod = z.output<typeof pod>;

/** Labels with the part of the name of a ReplicaSet that its Deployment or Rollout added. */
const HASH_LABELS = [
  { label: "pod-template-hash", kind: "Deployment" },
  { label: "rollouts-pod-template-hash", kind: "Rollout" },
];

/** Returns what a user restarts to replace the pod. */
function workloadOf({ metadata: { name, labels, ownerReferences } }: Pod): string {
  const owner = ownerReferences.find(({ controller }) => controller);
  if (owner === undefined) return `Pod/${name}`;
  if (owner.kind === "ReplicaSet") {
    for (const { label, kind } of HASH_LABELS) {
      const suffix = `-${labels[label]}`;
      if (label in labels && owner.name.endsWith(suffix))
        return `${kind}/${owner.name.slice(0, -suffix.length)}`;
    }
  }
  return `${owner.kind}/${owner.name}`;
}

/**
 * Returns by how much the clock of the node may be ahead of the API server: at most by
 * the time between the creation of the pod and the time at which the kubelet says it saw it.
 */
function nodeAheadMs({ metadata: { creationTimestamp }, status: { startTime } }: Pod): number {
  if (creationTimestamp === undefined || startTime === undefined) return Infinity;
  return Math.max(0, startTime - creationTimestamp) + 1_000;
}

type Start = Pick<PodUse, "startedAt" | "isRestarted">;

const UNKNOWN: Start = { startedAt: -Infinity, isRestarted: false };

/** Returns the last starts of the containers by name, at the earliest on the API server's clock. */
function startsOf(of: Pod): Map<string, Start> {
  const { containerStatuses: own, initContainerStatuses, ephemeralContainerStatuses } = of.status;
  const aheadMs = nodeAheadMs(of);
  return new Map(
    [...own, ...initContainerStatuses, ...ephemeralContainerStatuses].map(
      ({ name, state: { running, terminated }, restartCount }) => {
        const startedAt = (running?.startedAt ?? terminated?.startedAt ?? -Infinity) - aheadMs;
        return [name, { startedAt, isRestarted: restartCount > 0 }];
      },
    ),
  );
}

function usesOf(spec: PodSpec, starts: ReadonlyMap<string, Start>): Map<string, PodUse[]> {
  const uses = new Map<string, PodUse[]>();
  const add = (targets: readonly string[], by: PodUse["by"], start = UNKNOWN): void => {
    for (const target of targets) uses.set(target, [...(uses.get(target) ?? []), { by, ...start }]);
  };
  for (const one of containersOf(spec)) {
    add(environmentOf(one), "start", starts.get(one.name));
    add(subPathsOf(one, spec), "mount", starts.get(one.name));
  }
  add(volumesOf(spec), "volume");
  add(pullSecretsOf(spec), "pull");
  return uses;
}

/**
 * Parses a pod of the API server; `undefined` if all its containers have ended permanently. A pod that
 * terminates runs until it is gone. Total: a pod that cannot be read has no uses.
 */
export function runningPod(object: unknown): RunningPod | undefined {
  const parsed = pod.safeParse(object).data;
  if (parsed === undefined) return undefined;
  const { phase, conditions } = parsed.status;
  if (phase === "Succeeded" || phase === "Failed") return undefined;
  return {
    workload: workloadOf(parsed),
    node: parsed.spec.nodeName,
    createdAt: parsed.metadata.creationTimestamp ?? -Infinity,
    isTerminating: parsed.metadata.deletionTimestamp !== undefined,
    isReady: conditions.some(({ type, status }) => type === "Ready" && status === "True"),
    uses: usesOf(parsed.spec, startsOf(parsed)),
  };
}

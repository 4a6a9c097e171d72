import { clusterVaultConnectionKind, vaultConnectionKind, vaultFileKind, vaultPushKind, vaultSecretKind } from "./api/kinds.ts";
import { CREDENTIALS_TYPE, MANAGED_BY, MANAGED_BY_LABEL } from "./api/names.ts";
import type { Labels } from "./api/namespace-selector.ts";
import { WorkloadWatch } from "./controllers/restart/workload-watch.ts";
import type { WorkloadKind } from "./api/rollout-restart.ts";
import { targetMetadata } from "./controllers/sync/target-metadata.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import type { KubeApi } from "./kube/client/kube-api.ts";
import { ReflectorGroup, type ReflectorGroupOptions } from "./kube/cache/reflector-group.ts";
import { ReadObjects } from "./kube/cache/read-objects.ts";
import type { WatchProblems } from "./kube/cache/watch-problems.ts";
import { ALL_NAMESPACES, CONFIG_MAPS, type KubeObject, NAMESPACES, SECRETS } from "./kube/resource.ts";
import type { TargetMetadata } from "./sync/target.ts";

export interface ReflectorsOptions {
  readonly api: KubeApi;
  /** The namespaces to watch; `[ALL_NAMESPACES]` for all. */
  readonly namespaces: readonly string[];
  /** Without it Secrets are neither listed nor watched: targets are read one by one, and no change of credentials is seen. */
  readonly watchSecrets: boolean;
  /** Time in milliseconds after which every collection is listed again; 0 turns it off. */
  readonly relistMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly problems?: WatchProblems | undefined;
}

/** The annotation in which `kubectl apply` keeps a copy of the whole object. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Removes that copy from a custom resource: the operator does not read it, and it is often larger than the rest. */
function withoutCopies(object: KubeObject): KubeObject {
  const { annotations, ...metadata } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...object, metadata: { ...metadata, annotations: others } };
}

const isTarget = ({ metadata }: KubeObject): boolean => metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
const version = ({ metadata }: KubeObject): string | undefined => metadata.resourceVersion;

/**
 * Returns the reflectors of everything the operator watches: its own kinds completely; its targets and the credentials Secrets as
 * metadata only, so that no watch brings the value of a Secret into memory, and unrelated Secrets cost nothing. Cluster-scoped objects
 * are watched only together with all namespaces: an operator with Roles may not read them.
 */
export function createReflectors(options: ReflectorsOptions) {
  const reflector = <T>(
    part: Pick<ReflectorGroupOptions<T>, "resource" | "labelSelector" | "fieldSelector" | "metadataOnly" | "project">,
  ) => new ReflectorGroup<T>({ ...options, ...part });
  const labelSelector = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;
  const target = { labelSelector, metadataOnly: true, project: targetMetadata };
  const read = <T>(project: (object: KubeObject) => T) =>
    new ReadObjects<T>({ api: options.api, resource: SECRETS, includes: isTarget, project });
  const credentials = { resource: SECRETS, fieldSelector: `type=${CREDENTIALS_TYPE}`, metadataOnly: true, project: version };
  const isForCluster = options.namespaces.includes(ALL_NAMESPACES);
  return {
    connections: reflector({ resource: vaultConnectionKind, project: withoutCopies }),
    ...(isForCluster && {
      clusterConnections: reflector({ resource: clusterVaultConnectionKind, project: withoutCopies }),
      namespaces: reflector<Labels>({
        resource: NAMESPACES,
        metadataOnly: true,
        project: ({ metadata }) => metadata.labels ?? {},
      }),
    }),
    secrets: reflector({ resource: vaultSecretKind, project: withoutCopies }),
    files: reflector({ resource: vaultFileKind, project: withoutCopies }),
    pushes: reflector({ resource: vaultPushKind, project: withoutCopies }),
    targetSecrets: options.watchSecrets ? reflector<TargetMetadata>({ resource: SECRETS, ...target }) : read(targetMetadata),
    targetConfigMaps: reflector<TargetMetadata>({ resource: CONFIG_MAPS, ...target }),
    // Never read: the version matters only for a change that a watch shows.
    credentials: options.watchSecrets ? reflector(credentials) : read(version),
  };
}

/** Returns the watches of the workloads, which do not start before a resource refers to their kind. */
export function createWorkloadWatches(options: ReflectorsOptions): Readonly<Record<WorkloadKind, WorkloadWatch>> {
  const watch = (kind: WorkloadKind): WorkloadWatch => new WorkloadWatch({ ...options, kind });
  return {
    Deployment: watch("Deployment"),
    StatefulSet: watch("StatefulSet"),
    DaemonSet: watch("DaemonSet"),
    Rollout: watch("Rollout"),
  };
}

export type Reflectors = ReturnType<typeof createReflectors>;

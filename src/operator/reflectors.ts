import {
  clusterVaultConnectionKind,
  clusterVaultFileKind,
  clusterVaultSecretKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "./api/kinds.ts";
import {
  CREDENTIALS_TYPE,
  FREEZE_CONFIG_MAP,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGED_LABEL,
} from "./api/names.ts";
import { WorkloadWatch } from "./controllers/restart/workload-watch.ts";
import type { WorkloadKind } from "./api/rollout-restart.ts";
import { freezeIn, namespaceFacts, type NamespaceFacts } from "./connection/namespace-facts.ts";
import { ownerIndex, targetMetadata } from "./controllers/sync/target-metadata.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import type { KubeApi } from "./kube/client/kube-api.ts";
import { Reflector, type ReflectorOptions } from "./kube/cache/reflector.ts";
import { ReflectorGroup, type ReflectorGroupOptions } from "./kube/cache/reflector-group.ts";
import type { IndexOf } from "./kube/cache/object-store.ts";
import { NamespaceWatches } from "./kube/cache/namespace-watches.ts";
import { ReadObjects } from "./kube/cache/read-objects.ts";
import type { RequestProblems } from "./kube/request-problems.ts";
import { CONFIG_MAPS, type KubeObject, NAMESPACES, SECRETS } from "./kube/resource.ts";
import type { Freeze } from "./sync/freeze.ts";
import type { TargetMetadata } from "./sync/target.ts";

export interface ReflectorsOptions {
  readonly api: KubeApi;
  /** The operator serves all namespaces. Otherwise it may not read cluster-scoped objects. */
  readonly isForCluster: boolean;
  /**
   * If false, the operator does not list or watch Secrets: it reads targets one by one, and sees no
   * change of credentials.
   */
  readonly watchSecrets: boolean;
  /** Time in milliseconds after which every collection is listed again; 0 turns it off. */
  readonly relistMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The annotation in which `kubectl apply` keeps a copy of the whole object. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Removes that copy from a custom resource: the operator does not read it, and it is often larger
 * than the rest.
 */
function withoutCopies(object: KubeObject): KubeObject {
  const { annotations, ...metadata } = object.metadata;
  if (annotations?.[LAST_APPLIED] === undefined) return object;
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return { ...object, metadata: { ...metadata, annotations: others } };
}

const isTarget = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
const version = ({ metadata }: KubeObject): string | undefined => metadata.resourceVersion;

/**
 * Returns the reflectors of everything the operator watches: its own kinds completely; its targets
 * and the credentials Secrets as metadata only. No watch brings the value of a Secret into memory,
 * and unrelated Secrets cost nothing. Nothing is watched before {@link namespaceWatches}.
 */
export function createReflectors(options: ReflectorsOptions) {
  const reflector = <T>(
    part: Pick<
      ReflectorGroupOptions<T>,
      | "resource"
      | "optional"
      | "labelSelector"
      | "fieldSelector"
      | "metadataOnly"
      | "managedFields"
      | "project"
      | "indexOf"
    >,
  ) => new ReflectorGroup<T>({ ...options, ...part });
  const labelSelector = `${MANAGED_BY_LABEL}=${MANAGED_BY}`;
  const target = {
    labelSelector,
    metadataOnly: true,
    project: targetMetadata,
    indexOf: ownerIndex,
  };
  const merged = { labelSelector: MERGED_LABEL, metadataOnly: true, project: targetMetadata };
  const read = <T>(project: (object: KubeObject) => T, indexOf?: IndexOf<T>) =>
    new ReadObjects<T>({
      api: options.api,
      resource: SECRETS,
      includes: isTarget,
      project,
      indexOf,
    });
  const credentials = {
    resource: SECRETS,
    fieldSelector: `type=${CREDENTIALS_TYPE}`,
    metadataOnly: true,
    project: version,
  };
  return {
    // In the order in which a namespace is reported: an object follows those that it needs.
    targetSecrets: options.watchSecrets
      ? reflector<TargetMetadata>({ resource: SECRETS, ...target })
      : read(targetMetadata, ownerIndex),
    targetConfigMaps: reflector<TargetMetadata>({ resource: CONFIG_MAPS, ...target }),
    ...(options.watchSecrets && {
      mergedSecrets: reflector<TargetMetadata>({ resource: SECRETS, ...merged }),
    }),
    mergedConfigMaps: reflector<TargetMetadata>({ resource: CONFIG_MAPS, ...merged }),
    // Never read: the version matters only for a change that a watch shows.
    credentials: options.watchSecrets ? reflector(credentials) : read(version),
    ...(options.isForCluster && {
      namespaces: reflector<NamespaceFacts>({
        resource: NAMESPACES,
        metadataOnly: true,
        managedFields: true,
        project: namespaceFacts,
      }),
      clusterConnections: reflector({
        resource: clusterVaultConnectionKind,
        project: withoutCopies,
      }),
      // An operator that is newer than the CRDs works without them.
      clusterSecrets: reflector({
        resource: clusterVaultSecretKind,
        optional: true,
        project: withoutCopies,
      }),
      clusterFiles: reflector({
        resource: clusterVaultFileKind,
        optional: true,
        project: withoutCopies,
      }),
    }),
    connections: reflector({ resource: vaultConnectionKind, project: withoutCopies }),
    secrets: reflector({ resource: vaultSecretKind, project: withoutCopies }),
    files: reflector({ resource: vaultFileKind, project: withoutCopies }),
    pushes: reflector({ resource: vaultPushKind, project: withoutCopies }),
  };
}

/** Returns the watch of the ConfigMap of a freeze. It is in the operator's namespace. */
export const createFreezeWatch = (
  options: Omit<ReflectorOptions<Freeze>, "resource" | "project">,
): Reflector<Freeze> =>
  new Reflector({
    ...options,
    resource: CONFIG_MAPS,
    fieldSelector: `metadata.name=${FREEZE_CONFIG_MAP}`,
    managedFields: true,
    project: freezeIn,
  });

/** Returns the watches of the workloads. A watch starts when a resource refers to its kind. */
export function createWorkloadWatches(
  options: ReflectorsOptions,
): Readonly<Record<WorkloadKind, WorkloadWatch>> {
  const watch = (kind: WorkloadKind): WorkloadWatch => new WorkloadWatch({ ...options, kind });
  return {
    Deployment: watch("Deployment"),
    StatefulSet: watch("StatefulSet"),
    DaemonSet: watch("DaemonSet"),
    Rollout: watch("Rollout"),
  };
}

export type Reflectors = ReturnType<typeof createReflectors>;

/** Returns the watches of these reflectors and workloads. They start with the first namespaces. */
export function namespaceWatches(
  reflectors: Reflectors,
  workloads: Readonly<Record<WorkloadKind, WorkloadWatch>>,
  problems?: RequestProblems,
): NamespaceWatches {
  const collections = Object.values(reflectors).filter((each) => each instanceof ReflectorGroup);
  return new NamespaceWatches({ collections, dependents: Object.values(workloads), problems });
}

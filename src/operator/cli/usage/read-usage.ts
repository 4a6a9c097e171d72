import { isObject } from "../../../lib/is-object.ts";
import { findCondition } from "../../api/conditions.ts";
import { vaultFileKind, vaultSecretKind } from "../../api/kinds.ts";
import { RESTART_ANNOTATION } from "../../api/names.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { type KubeObject, PODS, type ResourceDescriptor } from "../../kube/resource.ts";
import { templateUses } from "../../restart/pod-references.ts";
import { runningPod } from "../../restart/running-pod.ts";
import type { SyncKind } from "../../sync/sync-key.ts";
import { keyOf, shownItem, sourceOf, type SyncStatus } from "../../sync/stored-status.ts";
import type { Find, SyncResource } from "../../sync/sync-resource.ts";
import { type Cluster, listAll } from "../cluster.ts";
import { parsedResource, statusOf } from "../read-resource.ts";
import { syncKindOf } from "../synced-kind.ts";

/** An entry of the vault that a resource refers to. */
interface UsedEntry {
  readonly entry: string;
  /** Version in the target, as far as known. */
  readonly version: number | undefined;
}

/** A VaultSecret or VaultFile, or a ClusterVaultSecret or ClusterVaultFile in one namespace. */
export interface UsingResource {
  readonly kind: SyncKind;
  /** Empty for a cluster-scoped resource that selects no known namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly entries: readonly UsedEntry[];
  /** Versions that its spec or its hold names: the next sync writes them. */
  readonly requested: readonly UsedEntry[];
  /** `<kind>/<name>`. */
  readonly target: string;
  /** Earlier targets that pods may still use. */
  readonly formerTargets: readonly string[];
  /** Status of the condition, and its message; `undefined` without one. */
  readonly converged: { readonly status: string; readonly message: string } | undefined;
  /** The status shows all entries, and is of the current spec. */
  readonly isCurrent: boolean;
  /** Its rules may find entries that the status does not show. */
  readonly mayFind: boolean;
  readonly finds: readonly Find[];
  /** The reason for which newer versions wait. */
  readonly gate: "approval" | "window" | "hold" | undefined;
  readonly object: KubeObject;
}

/** A workload whose pods use Secrets and ConfigMaps. */
export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** It asks to be restarted for everything that it uses. */
  readonly isAuto: boolean;
  /** `<kind>/<name>` of Secrets and ConfigMaps. */
  readonly uses: ReadonlySet<string>;
}

export interface Usage {
  readonly resources: readonly UsingResource[];
  readonly workloads: readonly Workload[];
  /** Kinds of workloads that the user may not list. */
  readonly unseen: readonly string[];
  /**
   * The cluster-scoped resources, whatever they select: each once, without a namespace. Empty if
   * they were not read.
   */
  readonly clusterWide: readonly UsingResource[];
  /** Kinds of these, and `namespaces`, that the user may not list. */
  readonly hidden: readonly string[];
}

const descriptor = (group: string, version: string, kind: string): ResourceDescriptor => {
  return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: true };
};

/** A kind of Argo Rollouts. Many clusters do not serve it. */
const ROLLOUT = descriptor("argoproj.io", "v1alpha1", "Rollout");

const workloadKinds = [
  descriptor("apps", "v1", "Deployment"),
  descriptor("apps", "v1", "StatefulSet"),
  descriptor("apps", "v1", "DaemonSet"),
  descriptor("batch", "v1", "CronJob"),
  ROLLOUT,
];

/** Returns the first gate that keeps a resource from following a newer version immediately. */
function gateOf(object: KubeObject): UsingResource["gate"] {
  const { hold, updates } = parsedResource(object);
  if (hold !== undefined) return "hold";
  if (updates?.needsApproval === true) return "approval";
  return updates === undefined || updates.windows.length === 0 ? undefined : "window";
}

/**
 * Returns the versions that a resource requests: pinned ones, held ones, and the ones before those
 * that the target has, if it should have the earlier ones.
 */
function requestedVersions({ items, hold }: SyncResource, status: SyncStatus): UsedEntry[] {
  const shown = status.items ?? [];
  const sources = new Map(items.map(({ id, source }) => [id, source]));
  for (const item of shown) sources.set(keyOf(item), sourceOf(item));
  const held = [...(hold?.versions ?? [])].flatMap(([id, version]) => {
    const entry = sources.get(id);
    return entry === undefined ? [] : [{ entry, version }];
  });
  const named = items.flatMap((item): UsedEntry[] => {
    const { source: entry, version } = item;
    if (typeof version === "number") return [{ entry, version }];
    const { version: current, latest } = shownItem(status, item) ?? {};
    const isNewest = version === "previous" && current !== undefined && current === latest;
    return isNewest ? [{ entry, version: current - 1 }] : [];
  });
  return [...held, ...named];
}

/** Returns what a resource refers to, by its spec and, with the versions, by its status. */
export function usingResource(object: KubeObject): UsingResource {
  const { namespace = "", name, generation } = object.metadata;
  const resource = parsedResource(object);
  const status = statusOf(object);
  const shown = (status.items ?? []).map((item): UsedEntry => ({
    entry: sourceOf(item),
    version: item.version,
  }));
  const missing = resource.items
    .filter(({ source }) => !shown.some(({ entry }) => entry === source))
    .map(({ source }): UsedEntry => ({ entry: source, version: undefined }));
  const { target = resource.target } = status;
  const converged = findCondition(status.conditions, "Converged");
  return {
    kind: syncKindOf(object),
    namespace,
    name,
    entries: [...shown, ...missing],
    requested: requestedVersions(resource, status),
    target: `${target.kind}/${target.name}`,
    formerTargets: status.formerTargets ?? [],
    converged: converged && { status: converged.status, message: converged.message },
    isCurrent: status.itemsOmitted === undefined && status.observedGeneration === generation,
    mayFind: resource.finds.length > 0 || status.itemsOmitted !== undefined,
    finds: resource.finds,
    gate: gateOf(object),
    object,
  };
}

/** Returns a workload, if its pod template uses a Secret or ConfigMap. */
function usingWorkload({ kind, metadata, spec }: KubeObject): Workload[] {
  const job = isObject(spec) ? spec["jobTemplate"] : undefined;
  const uses = templateUses(kind === "CronJob" ? job : { spec });
  const { namespace = "", name, labels = {}, annotations = {} } = metadata;
  const isAuto = annotations[RESTART_ANNOTATION] === "auto";
  return uses.size === 0 ? [] : [{ kind, namespace, name, labels, isAuto, uses }];
}

const idOf = (namespace: string, id: string): string => `${namespace}/${id}`;

/** Returns the workloads of pods that no workload in the list has as its template. */
function podWorkloads(
  pods: readonly KubeObject[],
  known: readonly Workload[],
): ReadonlyMap<string, Workload> {
  const found = new Map(
    known.map((one) => [idOf(one.namespace, `${one.kind}/${one.name}`), one] as const),
  );
  for (const object of pods) {
    const pod = runningPod(object);
    if (pod === undefined || pod.uses.size === 0) continue;
    const { namespace = "" } = object.metadata;
    const id = idOf(namespace, pod.workload);
    const [kind = "", name = ""] = pod.workload.split("/");
    const before = found.get(id) ?? { kind, namespace, name, labels: {}, isAuto: false, uses: [] };
    found.set(id, { ...before, uses: new Set([...before.uses, ...pod.uses.keys()]) });
  }
  return found;
}

/**
 * Reports whether objects of a kind that the user may not list can exist: the API server denies the
 * list before it says that it does not serve the kind. @throws KubeError
 */
async function mayExist(
  { api }: Cluster,
  { group }: ResourceDescriptor,
  signal: AbortSignal,
): Promise<boolean> {
  if (group !== ROLLOUT.group) return true;
  try {
    return await api.servesGroup(group, signal);
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return true;
    throw error;
  }
}

/**
 * Reads which VaultSecrets and VaultFiles refer to which entries of the vault, and which workloads
 * use their targets: by their pod templates and their pods. @throws KubeError
 */
export async function readUsage(cluster: Cluster, signal: AbortSignal): Promise<Usage> {
  const unseen: string[] = [];
  const listSeen = async (kind: ResourceDescriptor): Promise<KubeObject[]> => {
    try {
      return await listAll(cluster, kind, signal);
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "NotServed")) throw error;
      if (error.kind === "Forbidden" && (await mayExist(cluster, kind, signal)))
        unseen.push(kind.plural);
      return [];
    }
  };
  const [secrets, files, pods, ...workloads] = await Promise.all([
    listAll(cluster, vaultSecretKind, signal),
    listAll(cluster, vaultFileKind, signal),
    listSeen(PODS),
    ...workloadKinds.map(listSeen),
  ]);
  const templates = workloads.flat().flatMap(usingWorkload);
  return {
    resources: [...secrets, ...files].map(usingResource),
    workloads: [...podWorkloads(pods, templates).values()],
    unseen: unseen.sort(),
    clusterWide: [],
    hidden: [],
  };
}

/** Returns the workloads that use the target of a resource, or a former one. */
export const usersOf = (
  { workloads }: Usage,
  {
    namespace,
    target,
    formerTargets,
  }: Pick<UsingResource, "namespace" | "target" | "formerTargets">,
): Workload[] =>
  workloads.filter(
    (one) =>
      one.namespace === namespace && [target, ...formerTargets].some((name) => one.uses.has(name)),
  );

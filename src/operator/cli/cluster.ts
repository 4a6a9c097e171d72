import { stopSignal } from "../../command-line/stop-signal.ts";
import { systemClock } from "../../lib/clock.ts";
import { connectionRefOf } from "../api/connection-key.ts";
import { clusterVaultConnectionKind } from "../api/kinds.ts";
import { FIELD_MANAGER } from "../api/names.ts";
import { KubeClient } from "../kube/client/kube-client.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { isKubeError } from "../kube/kube-error.ts";
import {
  ALL_NAMESPACES,
  keyOf,
  type KubeObject,
  NAMESPACES,
  type ResourceDescriptor,
} from "../kube/resource.ts";
import type { ClusterFlags } from "./options.ts";

/** A client of the cluster's API server. */
export interface Cluster {
  readonly api: KubeClient;
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
}

/**
 * Runs `action` with a client of the selected cluster, and closes the client.
 * @throws Error that says what to do, for the failures that a user of a command line can resolve
 */
export async function withCluster<T>(
  flags: ClusterFlags,
  action: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const credentials = await loadCredentials(flags);
  const own = flags.namespace ?? credentials.namespace ?? "default";
  await using api = new KubeClient({
    credentials,
    clock: systemClock,
    fieldManager: FIELD_MANAGER,
  });
  try {
    return await action({ api, namespace: flags.allNamespaces === true ? ALL_NAMESPACES : own });
  } catch (error) {
    throw explained(error, credentials.server);
  }
}

/**
 * Runs `action` as {@link withCluster} does, until it ends or the user stops the command.
 * @param isEndless it has no other end: a stop is no failure
 * @throws Error also when the user stops a command that has an end: its result is not known
 */
export async function withClusterUntilStopped(
  flags: ClusterFlags,
  action: (cluster: Cluster, signal: AbortSignal) => Promise<void>,
  isEndless = false,
): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  await withCluster(flags, (cluster) => action(cluster, signal)).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    if (!isEndless) throw new Error("interrupted", { cause: error });
  });
}

/** Returns the error with its remedy, if there is one. */
function explained(error: unknown, { host }: URL): unknown {
  if (isKubeError(error, "NotServed"))
    return new Error(
      `${host} does not serve vaultsync.dev/v1alpha1: install the CRDs with kubectl apply -k crds`,
    );
  if (isKubeError(error, "Forbidden"))
    return new Error(
      `${error.message}: request the permission to ${error.operation}, or select a namespace with --namespace`,
    );
  if (isKubeError(error, "Unauthorized"))
    return new Error(`${host} rejected the credentials: log in to the cluster again`);
  if (isKubeError(error, "Unavailable", "Timeout"))
    return new Error(
      `no response from the API server ${host}: check the kubeconfig's server and the network (${error.message})`,
    );
  return error;
}

/** Returns all objects of a kind, sorted by namespace and name. @throws KubeError */
export async function listAll(
  { api, namespace }: Cluster,
  kind: ResourceDescriptor,
  signal: AbortSignal,
  labelSelector?: string,
): Promise<KubeObject[]> {
  const objects = new Map<string, KubeObject>();
  for await (const { items } of api.list(kind, { namespace, labelSelector, paged: true }, signal)) {
    for (const object of items) objects.set(keyOf(object.metadata), object);
  }
  return [...objects.values()];
}

/** @throws Error when the namespace does not exist, as far as the user may know that */
export async function checkNamespace(
  { api, namespace }: Cluster,
  signal: AbortSignal,
): Promise<void> {
  if (namespace === ALL_NAMESPACES) return;
  try {
    await api.getMetadata(NAMESPACES, { name: namespace }, signal);
  } catch (error) {
    if (isKubeError(error, "NotFound"))
      throw new Error(`there is no namespace ${namespace}`, { cause: error });
    if (!isKubeError(error, "Forbidden")) throw error;
  }
}

/** Returns the name of the ClusterVaultConnection that a resource refers to. */
function clusterConnectionOf({ spec }: KubeObject): string | undefined {
  const ref = connectionRefOf(spec);
  return ref?.kind === "ClusterVaultConnection" ? ref.name : undefined;
}

/**
 * Lists the cluster-scoped connections: all of them, or those that the resources of one namespace
 * refer to. Their readers need not be allowed to read them.
 */
export async function listClusterConnections(
  { api, namespace }: Cluster,
  resources: readonly KubeObject[],
  signal: AbortSignal,
) {
  const names = new Set(resources.map(clusterConnectionOf));
  if (namespace !== ALL_NAMESPACES && names.size === 1 && names.has(undefined)) return [];
  const all = { api, namespace: ALL_NAMESPACES };
  const connections = await listAll(all, clusterVaultConnectionKind, signal).catch(
    (error: unknown) => {
      if (namespace !== ALL_NAMESPACES && isKubeError(error, "Forbidden")) return [];
      throw error;
    },
  );
  return connections.filter(
    ({ metadata }) => namespace === ALL_NAMESPACES || names.has(metadata.name),
  );
}

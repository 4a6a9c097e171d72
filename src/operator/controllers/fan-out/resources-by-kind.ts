import type { NamespaceFacts } from "../../connection/namespace-facts.ts";
import type { Watched } from "../../kube/cache/filtered-view.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { SyncKind } from "../../sync/sync-key.ts";
import { FannedOut } from "./fanned-out.ts";

/** The resources that have targets, as the API server has them. */
export interface WatchedResources {
  readonly secrets: Watched<KubeObject>;
  readonly files: Watched<KubeObject>;
  /** `undefined`, like the rest, if the operator serves some namespaces only. */
  readonly clusterSecrets?: Watched<KubeObject> | undefined;
  readonly clusterFiles?: Watched<KubeObject> | undefined;
  /** The namespaces by name. */
  readonly namespaces?: Watched<NamespaceFacts> | undefined;
}

/** The resources by kind, each as one object for each namespace in which it has a target. */
export interface ResourcesByKind extends Readonly<Record<SyncKind, Watched<KubeObject>>> {
  readonly ClusterVaultSecret: FannedOut;
  readonly ClusterVaultFile: FannedOut;
}

/** Returns a collection that has nothing, ever. */
function nothing<T>(): Watched<T> {
  const noHandler = { [Symbol.dispose]: () => undefined };
  return { store: new ObjectStore<T>(), onChange: () => noHandler, onReconnect: () => noHandler };
}

/** Returns the resources by kind. The views of cluster-scoped ones end with the stack. */
export function resourcesByKind(
  { secrets, files, clusterSecrets, clusterFiles, namespaces = nothing() }: WatchedResources,
  stack: DisposableStack,
): ResourcesByKind {
  const fannedOut = (resources: Watched<KubeObject> = nothing()): FannedOut =>
    stack.use(new FannedOut({ resources, namespaces }));
  return {
    VaultSecret: secrets,
    VaultFile: files,
    ClusterVaultSecret: fannedOut(clusterSecrets),
    ClusterVaultFile: fannedOut(clusterFiles),
  };
}

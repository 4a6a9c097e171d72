import type { NamespaceFacts } from "../../connection/namespace-facts.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Freeze } from "../../sync/freeze.ts";
import type { Usage, UsingResource } from "../usage/read-usage.ts";
import type { KnownNamespaces } from "./check-resources.ts";
import type { Plan, PlannedConnection } from "./planned-resource.ts";

/** A namespace of a cluster, as far as the user may read it. */
export interface NamespaceState {
  /** `undefined` if there is none, or if the user may not read it. */
  readonly facts: NamespaceFacts | undefined;
  /** `undefined` if the user may not list its resources. */
  readonly usage: Usage | undefined;
}

/** The part of a cluster that concerns a plan, as far as the user may read it. */
export interface ClusterState {
  /** Connections by key. */
  readonly connections: ReadonlyMap<string, PlannedConnection>;
  /** Keys of connections that the user may not read. */
  readonly unreadable: ReadonlySet<string>;
  readonly namespaces: ReadonlyMap<string, NamespaceState>;
  /**
   * All namespaces, if the plan has cluster-scoped resources and the user may list them; otherwise
   * `undefined`.
   */
  readonly allNamespaces: ReadonlyMap<string, NamespaceFacts> | undefined;
  /**
   * The cluster-scoped resources of the plan that exist, by kind and name: `ClusterVaultSecret/db`.
   * `denied` if the user may not read it.
   */
  readonly fannedOut: ReadonlyMap<string, KubeObject | "denied">;
  /** All cluster-scoped resources of the kinds that the user may list. */
  readonly clusterWide: readonly UsingResource[];
  /**
   * The VaultSecrets and VaultFiles of all namespaces by namespace, if the plan has cluster-scoped
   * resources and the user may list them.
   */
  readonly everywhere: ReadonlyMap<string, readonly UsingResource[]>;
  /** The freeze of all or some namespaces; `unknown` if the user may not read it. */
  readonly freeze: Freeze | "unknown" | undefined;
  /** Texts about what the user may not read. */
  readonly notChecked: readonly string[];
}

/** Returns a plan with the connections of the cluster that the files lack. */
export const withConnections = (
  plan: Plan,
  { connections, unreadable }: Pick<ClusterState, "connections" | "unreadable">,
): Plan => {
  const added = [...connections].filter(([key]) => !plan.declared.has(key));
  return {
    ...plan,
    declared: new Set([...plan.declared, ...unreadable, ...added.map(([key]) => key)]),
    connections: [...plan.connections, ...added.map(([, connection]) => connection)],
  };
};

/** Returns the labels of namespaces of the files and, if they lack it, of the cluster. */
export const withNamespaces = (
  known: KnownNamespaces,
  { namespaces, allNamespaces = new Map() }: Pick<ClusterState, "namespaces" | "allNamespaces">,
): KnownNamespaces =>
  new Map([
    ...[...allNamespaces].map(([name, { labels }]) => [name, labels] as const),
    ...[...namespaces].flatMap(([name, { facts }]) =>
      facts === undefined ? [] : [[name, facts.labels] as const],
    ),
    ...known,
  ]);

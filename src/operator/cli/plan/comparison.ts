import { systemClock } from "../../../lib/clock.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { RESTART_ANNOTATION } from "../../api/names.ts";
import { freezeOf, type NamespaceFacts } from "../../connection/namespace-facts.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { hadTarget } from "../../sync/sync-status.ts";
import { vaultId } from "../../sync/target.ts";
import { withClusterUntilStopped } from "../cluster.ts";
import { selectionOf, selects } from "../../api/fan-out.ts";
import { showsTargetIn } from "../shown-namespaces.ts";
import type { ClusterFlags } from "../options.ts";
import { fieldProblem, type Problem } from "../manifests/manifest.ts";
import { parsedResource, statusOf } from "../read-resource.ts";
import { type Usage, usersOf, type UsingResource } from "../usage/read-usage.ts";
import { idOf, restartOf } from "../usage/usage.ts";
import type { ClusterState } from "./cluster-state.ts";
import { changesBytes, ComparedResource } from "./compared-resource.ts";
import type { VaultAccount } from "./existing-resource.ts";
import { isFannedOut } from "./fan-out.ts";
import type { Plan, PlannedConnection, PlannedResource } from "./planned-resource.ts";
import type { PlannedKey, PlannedRestart } from "./print-plan.ts";
import { readCluster } from "./read-cluster.ts";
import { firstOf } from "../../lib/first-of.ts";

/** The state of a cluster that resources of files are compared with. */
export class Comparison {
  readonly state: ClusterState;
  readonly #operatorNamespace: string;
  readonly #now: number;

  constructor(state: ClusterState, operatorNamespace: string, now = systemClock.now()) {
    this.state = state;
    this.#operatorNamespace = operatorNamespace;
    this.#now = now;
  }

  /** Returns a resource compared; `undefined` if what the cluster has of it is not known. */
  compared(
    planned: PlannedResource,
    connection: PlannedConnection | undefined,
  ): ComparedResource | undefined {
    const { namespace } = planned.manifest;
    const existing = isFannedOut(planned)
      ? this.#existingIn(planned)
      : this.#existingOf(planned.manifest);
    if (existing === undefined) return undefined;
    const { object, facts } = existing;
    const ref = object && parsedResource(object).connection;
    const read = ref && this.state.connections.get(connectionKey(ref, namespace));
    const { freeze } = this.state;
    return new ComparedResource(planned, object, accountOf(read ?? connection), {
      freeze: freezeOf(freeze === "unknown" ? undefined : freeze, facts, this.#now),
      hiddenFreeze: freeze === "unknown" ? this.#operatorNamespace : undefined,
      now: this.#now,
    });
  }

  /** Returns the object of a namespaced manifest; `undefined` if the user may not list its kind. */
  #existingOf({ kind, name, namespace }: PlannedResource["manifest"]): Existing | undefined {
    const { facts, usage } = this.state.namespaces.get(namespace) ?? {};
    if (usage === undefined) return undefined;
    const object = usage.resources.find((one) => one.kind === kind && one.name === name)?.object;
    return { object, facts };
  }

  /**
   * Returns the object of a cluster-scoped manifest, as far as its status shows what its target in a
   * namespace has: the items of a status are of a namespace in sync.
   */
  #existingIn({ manifest }: PlannedResource): Existing | undefined {
    const { namespace } = manifest;
    const object = this.state.fannedOut.get(keyOf({ manifest }));
    if (object === "denied" || namespace === "") return undefined;
    const facts = this.state.allNamespaces?.get(namespace);
    if (object === undefined) return { object, facts };
    const selection = selectionOf(object["spec"]);
    const isSelected = selection && selects(selection, namespace, facts?.labels);
    if (isSelected === false) return { object: undefined, facts };
    return isSelected === true && showsTargetIn(object, namespace) ? { object, facts } : undefined;
  }

  /** Returns the targets that belong to resources of the cluster that the files lack. */
  conflicts({ resources }: Plan): Problem[] {
    const inFiles = new Set(
      resources.map(({ manifest }) => `${manifest.namespace}/${keyOf({ manifest })}`),
    );
    return resources.flatMap((planned) => {
      const { manifest, resource } = planned;
      const { target, policy } = resource;
      const { namespace } = manifest;
      const all = policy.creationPolicy === "Merge" ? [] : this.#ownersIn(namespace);
      const owner = all.find(
        (one) =>
          !inFiles.has(`${namespace}/${one.kind}/${one.name}`) &&
          one.target === `${target.kind}/${target.name}`,
      );
      if (owner === undefined) return [];
      const where = isFannedOut(planned) ? ` in namespace ${namespace}` : "";
      const message = `the ${owner.kind} ${owner.name} of the cluster${where} has this target: choose another name`;
      return [fieldProblem(manifest, ["spec", "target", "name"], message)];
    });
  }

  /** Returns the resources of the cluster that own their target in a namespace. */
  #ownersIn(namespace: string): UsingResource[] {
    const own = this.#usageOf(namespace)?.resources ?? this.state.everywhere.get(namespace) ?? [];
    const { labels } = this.#factsOf(namespace) ?? {};
    const selecting = this.state.clusterWide.filter(({ object }) => {
      const selection = selectionOf(object["spec"]);
      const isSelected = selection !== undefined && selects(selection, namespace, labels) === true;
      return isSelected && showsTargetIn(object, namespace);
    });
    return [...own.filter(({ object }) => hadTarget(statusOf(object))), ...selecting].filter(
      ({ object }) => keepsTarget(object),
    );
  }

  #factsOf = (namespace: string): NamespaceFacts | undefined =>
    this.state.namespaces.get(namespace)?.facts ?? this.state.allNamespaces?.get(namespace);

  #usageOf = (namespace: string): Usage | undefined => this.state.namespaces.get(namespace)?.usage;

  /** Returns notes about the cluster-scoped resources that are not compared. */
  notCompared({ resources }: Plan): string[] {
    const hidden = resources.filter(
      (planned) =>
        isFannedOut(planned) &&
        planned.manifest.namespace !== "" &&
        this.#existingIn(planned) === undefined,
    );
    return [...Map.groupBy(hidden, ({ manifest }) => idOf(manifest))].map(([id, all]) => {
      const [one] = all;
      if (one !== undefined && this.state.fannedOut.get(keyOf(one)) === "denied")
        return `${id} is not compared with the cluster: you may not read it there`;
      const names = firstOf(all, { text: ({ manifest }) => manifest.namespace });
      return `${id} in namespace ${names} is not compared with the cluster: its status does not show what the target has there`;
    });
  }

  /** Returns a note about the workloads that a cluster-scoped resource restarts. */
  hiddenRestarts(planned: PlannedResource, keys: readonly PlannedKey[]): string[] {
    if (!isFannedOut(planned) || !keys.some(({ change }) => isReplaced(change))) return [];
    return [
      `restarts by ${idOf(planned.manifest)} are not shown: workloads with the annotation ${RESTART_ANNOTATION}: auto follow its targets`,
    ];
  }

  /** Returns the workloads that use the target of a resource, if the bytes of the target change. */
  restarts(
    { manifest, resource }: PlannedResource,
    { synced }: ComparedResource,
    keys: readonly PlannedKey[],
  ): PlannedRestart[] {
    const { namespace } = manifest;
    const usage = this.#usageOf(namespace);
    // The first content of a target restarts nothing.
    if (usage === undefined || synced === undefined || !keys.some(changesBytes)) return [];
    const target = `${resource.target.kind}/${resource.target.name}`;
    return usersOf(usage, { namespace, target, formerTargets: [] }).map((workload) => ({
      namespace,
      resource: idOf(manifest),
      target,
      workload: idOf(workload),
      ...restartOf(manifest.spec, workload),
    }));
  }
}

/** The object that a manifest replaces, and its namespace, as far as the user may read them. */
interface Existing {
  /** `undefined`: there is none. */
  readonly object: KubeObject | undefined;
  readonly facts: NamespaceFacts | undefined;
}

/** Returns the key of a cluster-scoped resource in the state of a cluster. */
const keyOf = ({ manifest }: Pick<PlannedResource, "manifest">): string =>
  `${manifest.kind}/${manifest.name}`;

/** Reports whether a resource of the cluster owns its target, and keeps it. */
const keepsTarget = (object: KubeObject): boolean =>
  object.metadata.deletionTimestamp === undefined &&
  parsedResource(object).policy.creationPolicy === "Owner";

/** Reports whether a key of an existing target gets other bytes. */
const isReplaced = (change: PlannedKey["change"]): boolean =>
  change === "version" || change === "content" || change === "leaving";

/** Returns the vault and account of a connection; without one, of none. */
function accountOf(connection: PlannedConnection | undefined): VaultAccount {
  if (connection === undefined) return { vault: "", account: "" };
  const { url, email } = connection.spec;
  return { vault: vaultId(url, email), account: canonicalEmail(email) };
}

/** Flags that select the cluster to compare with, and the namespace of its operator. */
export interface ComparisonFlags extends ClusterFlags {
  readonly operatorNamespace: string;
}

/**
 * Runs `action` with a function that reads the selected cluster, until it ends or the user stops the
 * command.
 */
export const withComparison = (
  flags: ComparisonFlags,
  action: (read: (plan: Plan) => Promise<Comparison>) => Promise<void>,
): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) =>
    action(async (plan) => {
      const { operatorNamespace } = flags;
      const state = await readCluster(cluster, plan, operatorNamespace, signal);
      return new Comparison(state, operatorNamespace);
    }),
  );

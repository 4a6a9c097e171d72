import { systemClock } from "../../../lib/clock.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { freezeOf } from "../../connection/namespace-facts.ts";
import { vaultId } from "../../sync/target.ts";
import { withClusterUntilStopped } from "../cluster.ts";
import type { ClusterFlags } from "../options.ts";
import { parsedResource } from "../read-resource.ts";
import { usersOf } from "../usage/read-usage.ts";
import { idOf, restartOf } from "../usage/usage.ts";
import type { ClusterState } from "./cluster-state.ts";
import { changesBytes, ComparedResource } from "./compared-resource.ts";
import { kindOf, type VaultAccount } from "./existing-resource.ts";
import type { Plan, PlannedConnection, PlannedResource } from "./planned-resource.ts";
import type { PlannedKey, PlannedRestart } from "./print-plan.ts";
import { readCluster } from "./read-cluster.ts";

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

  /** Returns a resource compared; `undefined` if the user may not list the ones of its namespace. */
  compared(
    planned: PlannedResource,
    connection: PlannedConnection | undefined,
  ): ComparedResource | undefined {
    const { kind, name, namespace } = planned.manifest;
    const { facts, usage } = this.state.namespaces.get(namespace) ?? {};
    if (usage === undefined) return undefined;
    const object = usage.resources.find((one) => one.kind === kind && one.name === name)?.object;
    const ref =
      object && parsedResource({ kind: kindOf(planned.manifest), name }, object).connection;
    const read = ref && this.state.connections.get(connectionKey(ref, namespace));
    const { freeze } = this.state;
    return new ComparedResource(planned, object, accountOf(read ?? connection), {
      freeze: freezeOf(freeze === "unknown" ? undefined : freeze, facts, this.#now),
      hiddenFreeze: freeze === "unknown" ? this.#operatorNamespace : undefined,
      now: this.#now,
    });
  }

  /** Returns the workloads that use the target of a resource, if the bytes of the target change. */
  restarts(
    { manifest, resource }: PlannedResource,
    { synced }: ComparedResource,
    keys: readonly PlannedKey[],
  ): PlannedRestart[] {
    const { namespace } = manifest;
    const usage = this.state.namespaces.get(namespace)?.usage;
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
